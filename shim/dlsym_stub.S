/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our dlsym. The real one takes the meaning of RTLD_NEXT and RTLD_DEFAULT from its return address, so
 * it must be reached by a jump, with the caller's frame untouched. Written in assembly so that no
 * compiler flag (-O0, sanitizers, coverage) can turn the jump into a call.
 */
#if defined(__x86_64__)
	.text
	.globl dlsym
	.type dlsym, @function
dlsym:
	.cfi_startproc
	endbr64
	pushq %rdi
	.cfi_adjust_cfa_offset 8
	pushq %rsi
	.cfi_adjust_cfa_offset 8
	subq $8, %rsp
	.cfi_adjust_cfa_offset 8
	movq 24(%rsp), %rdx
	call gputrace_lookup
	addq $8, %rsp
	.cfi_adjust_cfa_offset -8
	popq %rsi
	.cfi_adjust_cfa_offset -8
	popq %rdi
	.cfi_adjust_cfa_offset -8
	testq %rax, %rax
	jz 1f
	jmp *%rax
1:	movq %rdx, %rax
	ret
	.cfi_endproc
	.size dlsym, . - dlsym
	.section .note.GNU-stack, "", @progbits
	.section .note.gnu.property, "a"
	.align 8
	.long 4, 16, 5
	.asciz "GNU"
	.long 0xc0000002, 4, 3
	.long 0
#elif defined(__aarch64__)
	.text
	.globl dlsym
	.type dlsym, %function
dlsym:
	.cfi_startproc
	hint #34 /* bti c */
	stp x29, x30, [sp, #-32]!
	.cfi_adjust_cfa_offset 32
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	stp x0, x1, [sp, #16]
	mov x2, x30
	bl gputrace_lookup
	mov x16, x0
	mov x17, x1
	ldp x0, x1, [sp, #16]
	ldp x29, x30, [sp], #32
	.cfi_adjust_cfa_offset -32
	.cfi_restore x29
	.cfi_restore x30
	cbz x16, 1f
	br x16
1:	mov x0, x17
	ret
	.cfi_endproc
	.size dlsym, . - dlsym
	.section .note.GNU-stack, "", %progbits
#else
#error "gputrace runs on x86-64 and aarch64"
#endif
