# SPDX-License-Identifier: Apache-2.0
"""The rules of the house, one module per subject. A rule is a function that takes a Tree and yields Violations."""
