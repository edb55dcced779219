# SPDX-License-Identifier: Apache-2.0
#
# The rules of plugins/commandline: one module of it each.
commandline_unit_test(config)
commandline_unit_test(language)
