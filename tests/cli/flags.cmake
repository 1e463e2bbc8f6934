# SPDX-License-Identifier: Apache-2.0
# The suite `flags`: every sample with a planted fault, built in each way by which a program reaches the
# driver, and what is shown of it, one cell of a table each (flags_table.py):
#   finding   the fault is found with its number      twin        its cured twin has no finding
#   log       the trace equals the driver's log       log_twin    so does the twin's
#   live      so does live memory, call by call       live_twin   so does the twin's

set(flag_variants shared static-simulated driver get-proc-address)
set(flags_expected "")

# flags_test(NAME SCRIPT VARIANT ROWS row... CELLS cell... ARGS argument... [SERIAL | TIMED]): a
# cli_test that fills CELLS in all of ROWS. Where work completes on the wall clock: TIMED runs beside no
# other of its kind, SERIAL, whose numbers are narrow, beside nothing.
function(flags_test name script variant)
  cmake_parse_arguments(F "SERIAL;TIMED" "" "ROWS;CELLS;ARGS" ${ARGN})
  cli_test(${name} ${script} ${F_ARGS})
  set(cells)
  foreach(row IN LISTS F_ROWS)
    foreach(cell IN LISTS F_CELLS)
      list(APPEND cells "${row}@${variant}@${cell}")
    endforeach()
  endforeach()
  list(GET F_ROWS 0 row)
  list(JOIN cells "|" text)
  set_tests_properties(cli_${name} PROPERTIES LABELS "cli;flags"
    ENVIRONMENT "FLAGS_CELLS=${text};FLAGS_VARIANT=${variant};FLAGS_ROW=${row}")
  if(F_SERIAL)
    set_tests_properties(cli_${name} PROPERTIES RUN_SERIAL ON)
  endif()
  if(F_TIMED)
    set_tests_properties(cli_${name} PROPERTIES RESOURCE_LOCK timing)
  endif()
  list(JOIN cells "\n" text)
  string(APPEND flags_expected "${text}\n")
  set(flags_expected "${flags_expected}" PARENT_SCOPE)
  list(APPEND flags_tests cli_${name})
  set(flags_tests "${flags_tests}" PARENT_SCOPE)
endfunction()

# flags_log(SAMPLE ROW "options of both" "options of the twin; NONE: there is none" [SCRIPT])
macro(flags_log test row sample options twin)
  set(script log_equality)
  if("${row}" MATCHES "--ranks")
    set(script log_ranks)
  endif()
  separate_arguments(arguments UNIX_COMMAND "${options}")
  flags_test(log_${test}_${variant} ${script} ${variant} ROWS "${row}" CELLS log live
    ARGS ${sample} ${variant} ${arguments})
  if(NOT "${twin}" STREQUAL NONE)
    separate_arguments(arguments UNIX_COMMAND "${twin}")
    flags_test(log_cured_${test}_${variant} ${script} ${variant} ROWS "${row}" CELLS log_twin live_twin
      ARGS ${sample} ${variant} ${arguments})
  endif()
endmacro()

set(card "SIMCUDA_MEMORY_MIB=2048")
foreach(variant IN LISTS flag_variants)
  # Gains of single cures and silent look-alikes are checked once, with the runtime.
  set(twin_only --twin-only)
  if(variant STREQUAL shared)
    set(twin_only)
  endif()
  foreach(sample IN ITEMS pageable_copy unpadded_gemm launch_bound train_loop)
    flags_test(report_${sample}_${variant} report ${variant} ROWS ${sample} CELLS finding twin
      ARGS ${sample} ${variant} ${twin_only} SERIAL)
  endforeach()
  flags_log(pageable_copy pageable_copy pageable_copy "--steps 6" "--steps 6 --cured")
  flags_log(unpadded_gemm unpadded_gemm unpadded_gemm "--steps 6" "--steps 6 --cured")
  flags_test(report_unpadded_conv_${variant} report ${variant} ROWS unpadded_conv CELLS finding twin
    ARGS unpadded_conv ${variant} ${twin_only} SERIAL)
  flags_log(unpadded_conv unpadded_conv unpadded_conv "--steps 6" "--steps 6 --cured")
  flags_log(launch_bound launch_bound launch_bound "--steps 6" "--steps 40 --cured --update")
  flags_log(train_loop train_loop train_loop "--steps 6" "--steps 6 --cured")

  flags_test(placement_${variant} placement ${variant} ROWS cross_numa CELLS finding twin
    ARGS ${variant} TIMED)
  flags_log(cross_numa cross_numa cross_numa "MACHINE=cross-numa --steps 6"
    "MACHINE=cross-numa --steps 6 --cured")

  flags_test(memory_oom_fragmentation_${variant} memory_report ${variant}
    ROWS oom_fragmentation "oom_fragmentation --too-large" "oom_fragmentation --full"
      "oom_fragmentation --tenant"
    CELLS finding twin ARGS oom_fragmentation ${variant})
  flags_log(oom_fragmentation oom_fragmentation oom_fragmentation "${card}" "${card} --cured")
  flags_log(oom_too_large "oom_fragmentation --too-large" oom_fragmentation "${card} --too-large" NONE)
  flags_log(oom_full "oom_fragmentation --full" oom_fragmentation "${card} --full" NONE)
  flags_log(oom_tenant "oom_fragmentation --tenant" oom_fragmentation
    "${card} SIMCUDA_OTHERS_MIB=1400 --tenant" NONE)

  foreach(sample IN ITEMS alloc_churn pinning_in_loop)
    flags_test(memory_${sample}_${variant} memory_report ${variant} ROWS ${sample} CELLS finding twin
      ARGS ${sample} ${variant} TIMED)
    flags_log(${sample} ${sample} ${sample} "--steps 6" "--steps 6 --cured")
  endforeach()

  foreach(sample IN ITEMS downgraded_link peer_staged shared_uplink)
    flags_test(link_${sample}_${variant} link ${variant} ROWS ${sample}
      CELLS finding twin log log_twin live live_twin ARGS ${sample} ${variant} TIMED)
  endforeach()

  flags_test(resting_link_${variant} resting_link ${variant} ROWS "downgraded_link --pause-ms"
    CELLS finding log live ARGS ${variant} TIMED)

  # Faults of options and of the environment: rows by their findings.
  if(variant MATCHES "^(shared|driver)$")
    flags_test(planted_${variant} planted ${variant} ROWS GT603 GT705 GT706 GT408 GT108
      CELLS finding twin ARGS ${variant} TIMED)
  endif()

  set(row_two "exposed_allreduce --ranks 2")
  set(row_four "exposed_allreduce --ranks 4")
  set(row_train "train_loop --ranks 4")
  foreach(case IN ITEMS two four train)
    set(twin ${case}_cured)
    if(case STREQUAL two)
      set(twin cured)
    endif()
    flags_test(ranks_${case}_${variant} ranks ${variant} ROWS "${row_${case}}" CELLS finding
      ARGS ${case} ${variant} TIMED)
    flags_test(ranks_${twin}_${variant} ranks ${variant} ROWS "${row_${case}}" CELLS twin
      ARGS ${twin} ${variant} TIMED)
  endforeach()
  foreach(ranks IN ITEMS 2 4)
    flags_log(ranks_${ranks} "exposed_allreduce --ranks ${ranks}" exposed_allreduce
      "--ranks ${ranks} --steps 4" "--ranks ${ranks} --steps 4 --cured")
  endforeach()
  flags_log(ranks_train "${row_train}" train_loop "--ranks 4 --steps 4 --features 1 --gradients 256"
    "--ranks 4 --steps 4 --features 1 --gradients 256 --cured")
endforeach()

file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/tests/flags-expected" CONTENT "${flags_expected}")
add_test(NAME cli_flags_table COMMAND "${GPUTRACE_PYTHON}" "${CMAKE_CURRENT_SOURCE_DIR}/flags_table.py"
  "${CMAKE_BINARY_DIR}/tests/flags-expected" "${CMAKE_BINARY_DIR}/tests/flags-table" --check)
set_tests_properties(cli_flags_table PROPERTIES LABELS "cli;flags" DEPENDS "${flags_tests}"
  SKIP_RETURN_CODE 77)
