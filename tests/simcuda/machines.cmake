# SPDX-License-Identifier: Apache-2.0
# Simulated machines; included by CMakeLists.txt of this folder. sim_machine writes the files of one,
# and <build>/simcuda/machines/NAME is each description of machines/ made into such a folder. Tests
# that run programs copy one, since the processes on it share its state.
add_library(sim_machine_reader STATIC "${CMAKE_CURRENT_SOURCE_DIR}/sim_machine.c"
  "${CMAKE_CURRENT_SOURCE_DIR}/sim_shared.c" "${CMAKE_CURRENT_SOURCE_DIR}/sim_gpu_table.c"
  "${sim_generated}/sim_gpus.inc")
target_include_directories(sim_machine_reader PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}")
target_include_directories(sim_machine_reader PRIVATE "${sim_generated}")
target_compile_definitions(sim_machine_reader PRIVATE _GNU_SOURCE)
target_link_libraries(sim_machine_reader PRIVATE gputrace_warnings PUBLIC Threads::Threads)
set_target_properties(sim_machine_reader PROPERTIES POSITION_INDEPENDENT_CODE ON)
add_dependencies(sim_machine_reader simcuda) # one of the two makes the generated lists

add_executable(sim_machine "${CMAKE_CURRENT_SOURCE_DIR}/sim_machine_tree.c")
target_compile_definitions(sim_machine PRIVATE _GNU_SOURCE)
target_link_libraries(sim_machine PRIVATE gputrace_warnings sim_machine_reader)
set_target_properties(sim_machine PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/simcuda")

# NVML: its own declarations are held against the installed header, a package of its own.
add_library(simnvml SHARED "${CMAKE_CURRENT_SOURCE_DIR}/simnvml.c"
  "${CMAKE_CURRENT_SOURCE_DIR}/simnvml_links.c" "${CMAKE_CURRENT_SOURCE_DIR}/simnvml_live.c")
file(STRINGS "${GPUTRACE_CUDA_INCLUDE}/cuda.h" sim_cuda_version REGEX "^#define CUDA_VERSION ")
string(REGEX MATCH "[0-9]+" sim_cuda_version "${sim_cuda_version}")
target_compile_definitions(simnvml PRIVATE _GNU_SOURCE SIMNVML_CUDA_VERSION=${sim_cuda_version})
target_link_libraries(simnvml PRIVATE gputrace_warnings sim_machine_reader Threads::Threads)
target_link_options(simnvml PRIVATE -Wl,--no-undefined
  "-Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/simnvml.map")
set_target_properties(simnvml PROPERTIES OUTPUT_NAME nvidia-ml VERSION 1 SOVERSION 1
  LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/simcuda"
  LINK_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/simnvml.map")
find_path(GPUTRACE_NVML_INCLUDE nvml.h HINTS "${GPUTRACE_CUDA_INCLUDE}")
if(GPUTRACE_NVML_INCLUDE)
  target_sources(simnvml PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/simnvml_check.c")
  target_include_directories(simnvml SYSTEM PRIVATE "${GPUTRACE_NVML_INCLUDE}")
else()
  message(STATUS "simcuda: no nvml.h, so the simulated libnvidia-ml.so.1 is not held against it")
endif()

file(GLOB sim_machine_files CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/machines/*.tsv")
set(sim_machine_folders)
foreach(file IN LISTS sim_machine_files)
  get_filename_component(name "${file}" NAME_WE)
  set(folder "${CMAKE_BINARY_DIR}/simcuda/machines/${name}")
  add_custom_command(OUTPUT "${folder}/machine.tsv"
    COMMAND ${CMAKE_COMMAND} -E rm -rf "${folder}"
    COMMAND ${CMAKE_COMMAND} -E make_directory "${folder}"
    COMMAND sim_machine "${file}" "${folder}"
    DEPENDS sim_machine "${file}" VERBATIM)
  list(APPEND sim_machine_folders "${folder}/machine.tsv")
endforeach()
add_custom_target(sim_machines ALL DEPENDS ${sim_machine_folders})
