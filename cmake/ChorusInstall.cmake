# chorus_install(): the library, its headers, the tool and a CMake package, so that a user's project says
#
#   find_package(chorus REQUIRED)
#   target_link_libraries(mine PRIVATE chorus::chorus)
#
# libchorus.a is static, so the libraries that rooms use are looked for again on the user's side; the
# package file names each of them (CHORUS_DEPENDENCIES, gathered by chorus_packages).

include(CMakePackageConfigHelpers)

function(chorus_install)
  set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/chorus")
  install(TARGETS chorus EXPORT chorus ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT chorus NAMESPACE chorus:: FILE chorusTargets.cmake DESTINATION "${package_dir}")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/chorus" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    FILES_MATCHING PATTERN "*.h" PATTERN "*_test.h" EXCLUDE PATTERN "apps" EXCLUDE)
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
  if(TARGET chorus_tool)
    install(TARGETS chorus_tool RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()

  get_property(dependencies GLOBAL PROPERTY CHORUS_DEPENDENCIES)
  list(REMOVE_DUPLICATES dependencies)
  list(TRANSFORM dependencies REPLACE "(.+)" "find_dependency(\\1)")
  list(JOIN dependencies "\n" CHORUS_FIND_DEPENDENCIES)
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/chorusConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/chorusConfig.cmake" INSTALL_DESTINATION "${package_dir}")
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/chorusConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_BINARY_DIR}/chorusConfig.cmake"
    "${PROJECT_BINARY_DIR}/chorusConfigVersion.cmake" DESTINATION "${package_dir}")
endfunction()
