# chorus_room(NAME [APART] [PACKAGES ...]): one folder under chorus/, one object library, one test
# program.
#
# The release and sanitizer presets compile a room as one file (CMAKE_UNITY_BUILD), which takes a
# third of the time; APART rooms have files that cannot share one. Its tests, and the
# apps, are compiled some at a time there and in the ci preset (CHORUS_JOIN), so the names of their
# helpers are unique in the room. The dev preset compiles every file by itself.
# Sources are chorus/NAME/**/*.cc, tests are the files among them that end in _test.cc. A room
# without sources yet is skipped, so that the list of rooms in the top CMakeLists.txt is the
# whole house.
# chorus_library(): joins all rooms to the one library users link with.

set(CHORUS_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
    # False positives of g++ 12 on std::string at -O3 (its bug 105651).
    -Wno-restrict
    -Werror)

add_library(chorus_options INTERFACE)
target_include_directories(chorus_options INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(chorus_options INTERFACE ${CHORUS_WARNINGS})

set_property(GLOBAL PROPERTY CHORUS_DEPENDENCIES fmt Threads)

function(chorus_packages target)
  foreach(package IN LISTS ARGN)
    if(package STREQUAL "hwy")
      find_package(hwy REQUIRED)
      set_property(GLOBAL APPEND PROPERTY CHORUS_DEPENDENCIES hwy)
      target_link_libraries(${target} PUBLIC hwy::hwy)
    elseif(package STREQUAL "dnnl")
      # Not find_package(dnnl): Debian's package file of oneDNN asks for OpenCL's headers as well.
      # gomp runs the threads inside oneDNN; kernel/matmul.cc tells it how many they may be.
      find_library(CHORUS_DNNL dnnl REQUIRED)
      target_link_libraries(${target} PUBLIC dnnl gomp)
    elseif(package STREQUAL "tomlplusplus")
      find_package(tomlplusplus REQUIRED)
      set_property(GLOBAL APPEND PROPERTY CHORUS_DEPENDENCIES tomlplusplus)
      target_link_libraries(${target} PUBLIC tomlplusplus::tomlplusplus)
    else()
      message(FATAL_ERROR "chorus_room: unknown package '${package}'")
    endif()
  endforeach()
endfunction()

function(chorus_room name)
  cmake_parse_arguments(ARG "APART" "" "PACKAGES" ${ARGN})
  set(folder "${PROJECT_SOURCE_DIR}/chorus/${name}")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*.cc")
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  if(NOT sources)
    return()
  endif()
  add_library(chorus_${name} OBJECT ${sources})
  target_link_libraries(chorus_${name} PRIVATE chorus_options PUBLIC fmt::fmt Threads::Threads)
  chorus_packages(chorus_${name} ${ARG_PACKAGES})
  set_target_properties(chorus_${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 0)
  if(ARG_APART)
    set_target_properties(chorus_${name} PROPERTIES UNITY_BUILD OFF)
  endif()
  set_property(GLOBAL APPEND PROPERTY CHORUS_ROOMS ${name})
  if(CHORUS_TEST_ROOMS AND NOT name IN_LIST CHORUS_TEST_ROOMS)
    set(tests)
  endif()
  if(tests AND CHORUS_BUILD_TESTS)
    set_property(GLOBAL APPEND PROPERTY CHORUS_TESTED_ROOMS ${name})
    set_property(GLOBAL PROPERTY CHORUS_TESTS_${name} "${tests}")
  endif()
endfunction()

# chorus_embed(ROOM FILE NAME): makes the text of chorus/ROOM/FILE the constant `NAME` of namespace
# chorus, so that a room which reads no files can hold data that people read and edit.
function(chorus_embed room file name)
  chorus_embed_into(chorus_${room} "${PROJECT_SOURCE_DIR}/chorus/${room}/${file}" ${name})
endfunction()

# chorus_embed_into(TARGET PATH NAME): the same of any file and target.
function(chorus_embed_into target text name)
  set(source "${PROJECT_BINARY_DIR}/embedded/${target}_${name}.cc")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${text}")
  file(READ "${text}" content)
  file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT [[
namespace chorus {
extern const char* const @name@;
const char* const @name@ = R"embedded(@content@)embedded";
}  // namespace chorus
]])
  target_sources(${target} PRIVATE "${source}")
endfunction()

# chorus_join(TARGET FILES): compiles so many files of TARGET at a time where the preset joins; not
# all of them, so that several cores are kept busy.
function(chorus_join target files)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD "${CHORUS_JOIN}" UNITY_BUILD_BATCH_SIZE ${files})
endfunction()

function(chorus_test target)
  add_executable(${target} ${ARGN})
  # One file each where files share names, as those of tests/ do; tests of a room do not.
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  target_link_libraries(${target} PRIVATE chorus chorus_options GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${target} DISCOVERY_TIMEOUT 120 PROPERTIES TIMEOUT 600
    # What was measured on the machine that runs the tests must not change what they see.
    ENVIRONMENT "CHORUS_TUNING=off")
endfunction()

function(chorus_library)
  add_library(chorus STATIC)
  add_library(chorus::chorus ALIAS chorus)
  get_property(rooms GLOBAL PROPERTY CHORUS_ROOMS)
  set(all)
  foreach(room IN LISTS rooms)
    target_sources(chorus PRIVATE $<TARGET_OBJECTS:chorus_${room}>)
    get_target_property(libraries chorus_${room} INTERFACE_LINK_LIBRARIES)
    list(APPEND all ${libraries})
  endforeach()
  # Users link what the rooms link, but do not compile with their warnings.
  list(FILTER all EXCLUDE REGEX "chorus_options")
  list(REMOVE_DUPLICATES all)
  target_link_libraries(chorus PUBLIC ${all})
  target_include_directories(chorus PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_target_properties(chorus PROPERTIES LINKER_LANGUAGE CXX)

  get_property(tested GLOBAL PROPERTY CHORUS_TESTED_ROOMS)
  foreach(room IN LISTS tested)
    get_property(tests GLOBAL PROPERTY CHORUS_TESTS_${room})
    chorus_test(${room}_test ${tests})
    chorus_join(${room}_test 7)
  endforeach()
endfunction()
