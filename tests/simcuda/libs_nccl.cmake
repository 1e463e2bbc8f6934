# SPDX-License-Identifier: Apache-2.0
# The simulated NCCL, beside the other simulated libraries; included by libs.cmake.
set(simnccl_sources simnccl_comm.c simnccl_entries.c simnccl_faults.c simnccl_group.c
  simnccl_launch.c simnccl_model.c simnccl_node.c simnccl_reduce.c)
list(TRANSFORM simnccl_sources PREPEND "${simlibs_dir}/")
simlibs_shared(simnccl nccl simnccl.map ${simnccl_sources})
target_compile_definitions(simnccl PRIVATE _GNU_SOURCE)
target_link_libraries(simnccl PRIVATE m rt)
set_target_properties(simnccl PROPERTIES VERSION 2 SOVERSION 2)
# The reductions are loops over millions of elements.
set_source_files_properties("${simlibs_dir}/simnccl_reduce.c" PROPERTIES COMPILE_OPTIONS -O3)

if(COMMAND gputrace_unit_test AND CMOCKA_FOUND AND NOT GPUTRACE_SANITIZE)
  simlibs_test(test_simnccl LIBS simnccl simrt rt)
endif()
