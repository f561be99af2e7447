# SPDX-License-Identifier: MIT
# embed.cmake - writes bundle_files.c: cmake -DOUT=file -DFILES="a;b" -P embed.cmake
set(bodies "")
set(table "")
set(i 0)
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  file(READ ${file} hex HEX)
  string(LENGTH "${hex}" n_hex)
  math(EXPR n_bytes "${n_hex} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
  string(APPEND bodies "static const char text${i}[] = {\n${bytes}0};\n")
  string(APPEND table "    {\"${name}\", text${i}, ${n_bytes}},\n")
  math(EXPR i "${i} + 1")
endforeach()
file(WRITE ${OUT}.new
     "#include \"libtune/bundle_files.h\"\n\n${bodies}\nconst struct bundle_file bundle_files[] = {\n${table}    {NULL, NULL, 0},\n};\n")
file(RENAME ${OUT}.new ${OUT})
