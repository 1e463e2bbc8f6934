# SPDX-License-Identifier: Apache-2.0
# Simulated machines; included by CMakeLists.txt of this folder. sim_machine writes the files of one,
# and <build>/simcuda/machines/NAME is each description of machines/ made into such a folder. Tests
# that run programs copy one, since the processes on it share its state.
add_executable(sim_machine "${CMAKE_CURRENT_SOURCE_DIR}/sim_machine_tree.c"
  "${CMAKE_CURRENT_SOURCE_DIR}/sim_machine.c" "${CMAKE_CURRENT_SOURCE_DIR}/sim_gpu_table.c"
  "${sim_generated}/sim_gpus.inc")
target_include_directories(sim_machine PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}" "${sim_generated}")
target_compile_definitions(sim_machine PRIVATE _GNU_SOURCE)
target_link_libraries(sim_machine PRIVATE gputrace_warnings)
set_target_properties(sim_machine PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/simcuda")
add_dependencies(sim_machine simcuda) # one of the two makes the generated lists

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
