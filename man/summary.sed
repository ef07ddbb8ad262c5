# SPDX-License-Identifier: MIT
# One of the summaries that the tests expect, as text for man(7); for sed -n.
/^-- build\.60\.c\.plain --$/,/^-- /{
    /^-- /d
    s/\\/&e/g
    s/-/\\-/g
    s/^/\\\&/
    p
}
