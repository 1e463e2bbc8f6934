# SPDX-License-Identifier: Apache-2.0
# The simulated runtime, cuBLAS and CUPTI; included by CMakeLists.txt of this folder when the CUDA
# headers are there. Everything lies beside libcuda.so.1 in <build>/simcuda and finds it there.

set(simlibs_dir "${CMAKE_CURRENT_LIST_DIR}")
set(simlibs_out "${CMAKE_BINARY_DIR}/simcuda")
set(simlibs_gen "${CMAKE_CURRENT_BINARY_DIR}/simlibs_generated")
find_program(GPUTRACE_AWK NAMES gawk mawk awk REQUIRED)

# simlibs_generate(OUT INPUT SCRIPT): one list from one installed header.
function(simlibs_generate out input script)
  add_custom_command(OUTPUT "${simlibs_gen}/${out}"
    COMMAND ${CMAKE_COMMAND} -E make_directory "${simlibs_gen}"
    COMMAND sh -c "exec \"$1\" -f \"$2\" \"$3\" > \"$4\"" generate
      "${GPUTRACE_AWK}" "${simlibs_dir}/${script}" "${input}" "${simlibs_gen}/${out}"
    DEPENDS "${simlibs_dir}/${script}" "${input}" VERBATIM)
endfunction()

# simlibs_shared(TARGET NAME MAP SOURCES...): lib<NAME>.so.13 with its version node and dev link.
function(simlibs_shared target name map)
  add_library(${target} SHARED ${ARGN})
  target_include_directories(${target} PRIVATE "${simlibs_dir}" "${simlibs_gen}")
  target_include_directories(${target} SYSTEM PRIVATE "${GPUTRACE_CUDA_INCLUDE}")
  target_link_libraries(${target} PRIVATE gputrace_warnings Threads::Threads ${CMAKE_DL_LIBS})
  target_link_options(${target} PRIVATE
    "-Wl,--version-script=${simlibs_dir}/${map}" -Wl,--no-undefined)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} VERSION 13 SOVERSION 13
    LIBRARY_OUTPUT_DIRECTORY "${simlibs_out}" LINK_DEPENDS "${simlibs_dir}/${map}"
    BUILD_RPATH "$ORIGIN" INSTALL_RPATH "")
endfunction()

# The runtime, twice: exported in the shared library, hidden in the archive (simrt_internal.h).
simlibs_generate(simrt_error_names.inc "${GPUTRACE_CUDA_INCLUDE}/driver_types.h"
  simrt_gen_errors.awk)
set(simrt_sources
  simrt_call.c simrt_compiler.c simrt_context.c simrt_copy.c simrt_copy_shape.c simrt_device.c
  simrt_driver.c simrt_error.c simrt_launch.c simrt_memory.c simrt_peer.c simrt_registry.c
  simrt_stream.c simrt_twins.c)
list(APPEND simrt_sources simrt_array.c simrt_copy_array.c simrt_memory_pool.c)
list(APPEND simrt_sources simrt_graph.c)
list(TRANSFORM simrt_sources PREPEND "${simlibs_dir}/")
simlibs_shared(simrt cudart simrt.map ${simrt_sources} "${simlibs_gen}/simrt_error_names.inc")
target_compile_definitions(simrt PRIVATE SIMRT_SHARED)
# As a runtime of CUDA 12 too, which differs where batches of copies say which one failed; in a folder
# of its own, where only programs that are linked to it look.
simlibs_shared(simrt_12 cudart simrt_12.map ${simrt_sources} "${simlibs_gen}/simrt_error_names.inc")
target_compile_definitions(simrt_12 PRIVATE SIMRT_SHARED SIMRT_MAJOR=12)
set_target_properties(simrt_12 PROPERTIES VERSION 12 SOVERSION 12 BUILD_RPATH "$ORIGIN/.."
  LIBRARY_OUTPUT_DIRECTORY "${simlibs_out}/major12")
add_dependencies(simrt_12 simrt)

add_library(simrt_static STATIC ${simrt_sources} "${simlibs_gen}/simrt_error_names.inc")
target_include_directories(simrt_static PRIVATE "${simlibs_dir}" "${simlibs_gen}")
target_include_directories(simrt_static SYSTEM PRIVATE "${GPUTRACE_CUDA_INCLUDE}")
target_link_libraries(simrt_static PRIVATE gputrace_warnings)
set_target_properties(simrt_static PROPERTIES OUTPUT_NAME cudart_static
  ARCHIVE_OUTPUT_DIRECTORY "${simlibs_out}")
add_dependencies(simrt_static simrt) # one of the two makes the generated list

# cuBLAS: peaks per device come from the viewer's table.
simlibs_generate(simblas_gpus.inc "${simlibs_dir}/../../viewer/knowledge/gpus.tsv"
  simblas_gen_gpus.awk)
set(simblas_sources simblas_by_lt.c simblas_check.c simblas_driver.c simblas_entries.c simblas_gemm.c
  simblas_grouped.c simblas_handle.c simblas_model.c simblas_names.c)
list(TRANSFORM simblas_sources PREPEND "${simlibs_dir}/")
simlibs_shared(simblas cublas simblas.map ${simblas_sources} "${simlibs_gen}/simblas_gpus.inc")
# cuBLAS's own header says which functions are visible; without it the version script alone does.
if(NOT EXISTS "${GPUTRACE_CUDA_INCLUDE}/cublas_api.h")
  set_target_properties(simblas PROPERTIES C_VISIBILITY_PRESET default)
endif()

# cuBLASLt: descriptors of its own, the same model.
if(EXISTS "${GPUTRACE_CUDA_INCLUDE}/cublasLt.h")
  simlibs_shared(simblaslt cublasLt simblaslt.map ${simblas_sources} "${simlibs_dir}/simblaslt_desc.c"
    "${simlibs_dir}/simblaslt_matmul.c" "${simlibs_gen}/simblas_gpus.inc")
  add_dependencies(simblaslt simblas) # one of the two makes the generated list
endif()

# cuDNN: convolutions by the same model. Its header comes with all of cuDNN (490 MB): without it our own
# declarations do, which are compiled in any case and held against the header where it is.
set(simcudnn_sources simcudnn_conv.c simcudnn_graph.c simcudnn_layers.c)
list(TRANSFORM simcudnn_sources PREPEND "${simlibs_dir}/")
simlibs_shared(simcudnn cudnn simcudnn.map ${simblas_sources} ${simcudnn_sources}
  "${simlibs_gen}/simblas_gpus.inc")
target_include_directories(simcudnn SYSTEM PRIVATE "${simlibs_dir}/cudnn_declared")
set_target_properties(simcudnn PROPERTIES VERSION 9 SOVERSION 9)
target_compile_options(simcudnn PRIVATE -Wno-deprecated-declarations)
add_dependencies(simcudnn simblas)
if(EXISTS "${GPUTRACE_CUDA_INCLUDE}/cudnn.h")
  target_sources(simcudnn PRIVATE "${simlibs_dir}/simcudnn_check.c")
  add_library(simcudnn_declared OBJECT ${simcudnn_sources} "${simlibs_dir}/../shim/prog_conv.c")
  target_include_directories(simcudnn_declared PRIVATE "${simlibs_dir}/cudnn_declared" "${simlibs_dir}")
  target_include_directories(simcudnn_declared SYSTEM PRIVATE "${GPUTRACE_CUDA_INCLUDE}")
  target_link_libraries(simcudnn_declared PRIVATE gputrace_warnings)
else()
  message(STATUS "simcuda: no cudnn.h, so our declarations of cuDNN are not held against it")
endif()

# CUPTI: callback ids and result names come from the installed headers.
set(simcupti_has_records FALSE)
if(GPUTRACE_CUPTI_INCLUDE)
  file(STRINGS "${GPUTRACE_CUPTI_INCLUDE}/cupti_activity.h" simcupti_kernel_record
    REGEX "^} CUpti_ActivityKernel10;" LIMIT_COUNT 1)
  if(simcupti_kernel_record)
    set(simcupti_has_records TRUE)
  endif()
endif()
if(simcupti_has_records)
  foreach(domain driver runtime)
    simlibs_generate(simcupti_${domain}_cbids.inc
      "${GPUTRACE_CUPTI_INCLUDE}/cupti_${domain}_cbid.h" simcupti_gen_lists.awk)
  endforeach()
  simlibs_generate(simcupti_results.inc "${GPUTRACE_CUPTI_INCLUDE}/cupti_result.h"
    simcupti_gen_lists.awk)
  set(simcupti_sources simcupti_activity.c simcupti_buffer.c simcupti_callback.c simcupti_cbid.c
    simcupti_memory.c simcupti_record.c simcupti_tool.c)
  list(TRANSFORM simcupti_sources PREPEND "${simlibs_dir}/")
  simlibs_shared(simcupti cupti simcupti.map ${simcupti_sources}
    "${simlibs_gen}/simcupti_driver_cbids.inc" "${simlibs_gen}/simcupti_runtime_cbids.inc"
    "${simlibs_gen}/simcupti_results.inc")
  target_include_directories(simcupti SYSTEM PRIVATE "${GPUTRACE_CUPTI_INCLUDE}")
  # PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP is glibc's.
  target_compile_definitions(simcupti PRIVATE _GNU_SOURCE)
else()
  message(STATUS "simcuda: no CUPTI headers of CUDA 13.0 or later, so no simulated libcupti.so.13")
endif()

# The libraries are loaded by plain programs, so they are never sanitized: in such a build their tests
# would show nothing more.
if(COMMAND gputrace_unit_test AND CMOCKA_FOUND AND NOT GPUTRACE_SANITIZE)
  include("${simlibs_dir}/libs_tests.cmake")
endif()
include("${simlibs_dir}/libs_nccl.cmake")
