# SPDX-License-Identifier: Apache-2.0
# Tests of the simulated runtime, cuBLAS and CUPTI; included by libs.cmake where cmocka is. They need
# the simulated driver at run time only.

# simlibs_test(NAME SOURCES... LIBS targets...): a unit test linked with simulated libraries.
function(simlibs_test name)
  cmake_parse_arguments(T "" "" "SOURCES;LIBS" ${ARGN})
  list(TRANSFORM T_SOURCES PREPEND "${simlibs_dir}/")
  gputrace_unit_test(${name} SOURCES "${simlibs_dir}/${name}.c" "${simlibs_dir}/simtest_child.c"
    ${T_SOURCES} LIBS ${T_LIBS} Threads::Threads ${CMAKE_DL_LIBS})
  target_include_directories(${name} PRIVATE "${simlibs_dir}")
  target_include_directories(${name} SYSTEM PRIVATE "${GPUTRACE_CUDA_INCLUDE}")
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE SIMTEST_LIBRARIES="${simlibs_out}"
    SIMTEST_PROGRAMS="${CMAKE_BINARY_DIR}/tests")
  # A sanitizer's dlopen forgets the RUNPATH of who asks for libcuda.so.1.
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "LD_LIBRARY_PATH=${simlibs_out}")
  if(TARGET simcuda)
    add_dependencies(${name} simcuda)
  endif()
endfunction()

simlibs_test(test_simrt LIBS simrt)
simlibs_test(test_simrt_copies LIBS simrt)
if(EXISTS "${GPUTRACE_CUDA_INCLUDE}/cublas_v2.h")
  simlibs_test(test_simblas LIBS simblas simrt)
  if(TARGET simcupti)
    foreach(name test_simcupti_records test_simcupti_callbacks test_simcupti_graphs)
      simlibs_test(${name} SOURCES simtest_cupti.c LIBS simcupti simblas simrt)
      target_include_directories(${name} SYSTEM PRIVATE "${GPUTRACE_CUPTI_INCLUDE}")
    endforeach()
  endif()
endif()

# One CUDA C++ program, linked in every way that nvcc has.
if(NOT GPUTRACE_NVCC)
  message(STATUS "simcuda: nvcc not found, so the runtime is not tested with compiled CUDA C++")
  return()
endif()
set(simrt_program "${simlibs_dir}/simrt_program.cu")
set(simrt_programs)
function(simrt_build_program suffix)
  set(program "${CMAKE_BINARY_DIR}/tests/simrt_program-${suffix}")
  add_custom_command(OUTPUT "${program}"
    COMMAND ${CMAKE_COMMAND} -E make_directory "${CMAKE_BINARY_DIR}/tests"
    COMMAND "${GPUTRACE_NVCC}" -std=c++17 -arch=sm_80 "-L${simlibs_out}" ${ARGN}
      -o "${program}" "${simrt_program}"
    DEPENDS "${simrt_program}" simrt simrt_static VERBATIM)
  set(simrt_programs ${simrt_programs} "${program}" PARENT_SCOPE)
endfunction()
simrt_build_program(shared -cudart shared)
simrt_build_program(static) # nvcc's default, which takes the first libcudart_static.a of -L
simrt_build_program(none -cudart none -lcudart)
simrt_build_program(rdc -cudart shared -rdc=true)
simrt_build_program(ptds -cudart shared --default-stream per-thread)
add_custom_target(simrt_programs ALL DEPENDS ${simrt_programs})
simlibs_test(test_simrt_program)
add_dependencies(test_simrt_program simrt_programs simrt)
