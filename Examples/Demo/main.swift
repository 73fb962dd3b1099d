// SPDX-License-Identifier: Apache-2.0

Demo.main()
