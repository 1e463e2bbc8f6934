# SPDX-License-Identifier: Apache-2.0
# CUPTI end to end: every layout of its records for every sample, and a soak.

function(cupti_test name script)
  cli_test(cupti_${name} ${script} ${ARGN})
  set_tests_properties(cli_cupti_${name} PROPERTIES LABELS "cli;cupti")
endfunction()

foreach(sample IN ITEMS alloc_churn launch_bound pageable_copy pinning_in_loop sync_in_loop
    unpadded_gemm starved_input periodic_checkpoint train_loop)
  cupti_test(layouts_${sample} cupti_layouts ${sample} --steps 2)
endforeach()
foreach(pair IN ITEMS cross_numa:cross-numa downgraded_link:downgraded peer_staged:acs
    shared_uplink:small-switch)
  string(REGEX MATCH "^[a-z_]+" sample "${pair}")
  string(REGEX REPLACE ".*:" "" machine "${pair}")
  cupti_test(layouts_${sample} cupti_layouts ${sample} MACHINE=${machine} --steps 2)
endforeach()
cupti_test(layouts_oom_fragmentation cupti_layouts oom_fragmentation ${card})
cupti_test(layouts_exposed_allreduce cupti_layouts exposed_allreduce SIMCUDA_GPUS=2 --ranks 2
  --steps 2)
cupti_test(soak cupti_soak)
cupti_test(report cupti_report)
cupti_test(hidden cupti_hidden)
cupti_test(events_log events_log)
cupti_test(managed managed)

# Convolutions of the simulated cuDNN.
cupti_test(layouts_unpadded_conv cupti_layouts unpadded_conv --steps 2)
cupti_test(convolutions conv_report)
