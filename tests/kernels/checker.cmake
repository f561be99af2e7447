# SPDX-License-Identifier: MIT
# checker.cmake - writes OUT, a C file with the text NAME: sha256 over the bytes of FILES ("|" between them), in order.
string(REPLACE "|" ";" files "${FILES}")
set(all "")
foreach(file ${files})
  file(SHA256 "${file}" hash)
  string(APPEND all "${hash}\n")
endforeach()
string(SHA256 hash "${all}")
file(WRITE "${OUT}" "extern const char ${NAME}[];\nconst char ${NAME}[] = \"${hash}\";\n")
