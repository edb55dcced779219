# SPDX-License-Identifier: Apache-2.0
#
# What happens to what an executor runs when its host is killed.
code_executor_abi_program(host_killed)
code_executor_abi_test(faults host_killed local)
