# SPDX-License-Identifier: MIT
# shellcheck shell=sh
count() { sort words.txt | uniq -c | sort -rn; }
build() { make -s -j2 && count; }
