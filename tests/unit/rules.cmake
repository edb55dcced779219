# SPDX-License-Identifier: Apache-2.0
#
# The rules of plugins/commandline: one module of it each.
commandline_unit_test(config)
commandline_unit_test(language)
commandline_unit_test(silence_pip)
commandline_unit_test(file_name)
commandline_unit_test(workspace)
