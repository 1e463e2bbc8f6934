/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlopen without RTLD_DEEPBIND. The next dlopen takes the caller's RUNPATH and namespace from its
 * return address, so it must be reached by a jump, with the caller's frame untouched.
 */
#if defined(__x86_64__)
	.text
	.globl dlopen
	.type dlopen, @function
dlopen:
	.cfi_startproc
	endbr64
	pushq %rdi
	.cfi_adjust_cfa_offset 8
	subq $16, %rsp
	.cfi_adjust_cfa_offset 16
	movl %esi, %edi
	leaq 8(%rsp), %rsi
	call gputrace_next_dlopen
	movl 8(%rsp), %esi
	addq $16, %rsp
	.cfi_adjust_cfa_offset -16
	popq %rdi
	.cfi_adjust_cfa_offset -8
	jmp *%rax
	.cfi_endproc
	.size dlopen, . - dlopen
	.section .note.GNU-stack, "", @progbits
	.section .note.gnu.property, "a"
	.align 8
	.long 4, 16, 5
	.asciz "GNU"
	.long 0xc0000002, 4, 3
	.long 0
#elif defined(__aarch64__)
	.text
	.globl dlopen
	.type dlopen, %function
dlopen:
	.cfi_startproc
	hint #34 /* bti c */
	stp x29, x30, [sp, #-32]!
	.cfi_adjust_cfa_offset 32
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	str x0, [sp, #16]
	mov w0, w1
	add x1, sp, #24
	bl gputrace_next_dlopen
	mov x16, x0
	ldr x0, [sp, #16]
	ldr w1, [sp, #24]
	ldp x29, x30, [sp], #32
	.cfi_adjust_cfa_offset -32
	.cfi_restore x29
	.cfi_restore x30
	br x16
	.cfi_endproc
	.size dlopen, . - dlopen
	.section .note.GNU-stack, "", %progbits
#else
#error "gputrace runs on x86-64 and aarch64"
#endif
