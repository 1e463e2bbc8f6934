# SPDX-License-Identifier: Apache-2.0
# Spoils one cell of the GPU table at a time and expects the generator to name it.
file(READ "${TABLE}" table)

function(expect_refusal what pattern replacement message)
  string(REGEX REPLACE "${pattern}" "${replacement}" spoiled "${table}")
  if(spoiled STREQUAL table)
    message(FATAL_ERROR "${what}: the pattern does not match the table")
  endif()
  file(WRITE "${WORK}/spoiled.tsv" "${spoiled}")
  execute_process(COMMAND "${GENERATOR}" "${WORK}/spoiled.tsv"
    RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE text)
  if(status EQUAL 0 OR NOT text MATCHES "${message}")
    message(FATAL_ERROR "${what}: status ${status}, said: ${text}")
  endif()
endfunction()

expect_refusal("an SM count of 5000" "Ampere\t8.0\t108" "Ampere\t8.0\t5000" "sm_count")
expect_refusal("FP32 that SMs and clock cannot give" "\t19.5\t40\tHBM2" "\t195\t40\tHBM2" "fp32_tflops")
expect_refusal("letters for a number" "Volta\t7.0\t80\t1530" "Volta\t7.0\t80\tfast" "boost_mhz")
expect_refusal("a missing column" "\tHBM2\t" "\t" "columns")
expect_refusal("a renamed column" "sm_count" "sms" "sm_count")
execute_process(COMMAND "${GENERATOR}" "${TABLE}" RESULT_VARIABLE status OUTPUT_QUIET)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the real table is refused")
endif()
