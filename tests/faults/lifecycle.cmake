# SPDX-License-Identifier: Apache-2.0
#
# What happens to what an executor runs when its host is killed, and when that has run out of something.
foreach(program host_killed exhaustion)
    code_executor_abi_program(${program})
    code_executor_abi_test(faults ${program} local)
endforeach()
code_executor_abi_test(faults exhaustion sandbox "{\"work_dir\": \".\"}")
