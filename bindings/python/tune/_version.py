# SPDX-License-Identifier: MIT
__version__ = "0.2.0"
