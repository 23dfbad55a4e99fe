// The laws of the house, as checks over source text: floors, pure thinking rooms, one folder for
// each outside thing, no drawers, self-standing headers, a page for every room.
//
// A check takes the files as values and returns what it found, so that the test can show it bad
// trees as well as the real one. Pure, but for ReadTree.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace chorus::house {

// One text file of the repository.
struct SourceFile {
  std::string path;  // from the root of the repository, with '/': "chorus/mesh/spec.h"
  std::string text;
};

// A broken law: "PATH:LINE: what is wrong; what would be right". Empty result: the law is kept.
using Findings = std::vector<std::string>;

enum class Kind { kThinking, kDoing };

struct Room {
  int floor;
  Kind kind;
};

// The house: every room by its name, apps by theirs ("apps/cli"). docs/README.md shows the same
// table as a picture and the top CMakeLists.txt builds in this order; both are compared with it.
const std::map<std::string, Room, std::less<>>& Rooms();

// The room that a path lies in ("chorus/apps/cli/main.cc" -> "apps/cli"); "" outside chorus/.
std::string RoomOf(std::string_view path);

// `text` with each comment, string and character literal blanked, lines kept, so that a word in a
// comment is not taken for code.
std::string CodeOnly(std::string_view text);

// A room includes only rooms on lower floors and itself. A test may include rooms of its own floor
// as well: the verifier's test proves schedules that it must not know.
Findings CheckFloors(const std::vector<SourceFile>& files);

// Thinking rooms include only thinking rooms, and name no thread, lock, clock, file, socket or
// environment. Their tests include only thinking rooms as well, but may print and take the time.
Findings CheckThinkingIsPure(const std::vector<SourceFile>& files);

// In room cost, no file of formula/ includes one of simulate/ or the other way round; tests do.
Findings CheckFormulasAndSimulatorAreApart(const std::vector<SourceFile>& files);

// UCX, shared-memory calls, torch, HTTP, and each library that one room alone needs: named in one
// folder and nowhere else.
Findings CheckOneFolderForEach(const std::vector<SourceFile>& files);

// No folder called util, common, misc or the like.
Findings CheckNoDrawers(const std::vector<SourceFile>& files);

// Each header says #pragma once; each include within Chorus is by repository path and names
// a file that is there.
Findings CheckIncludesAreByPath(const std::vector<SourceFile>& files);

// NAME.cc includes its NAME.h before anything else, if there is one: so that the header stands on
// its own includes is seen by compiling NAME.cc. Headers alone are compiled by themselves
// (tests/CMakeLists.txt).
Findings CheckOwnHeaderComesFirst(const std::vector<SourceFile>& files);

// No two types of one namespace have one name, in whichever rooms they are: the linker would take
// one of them for both. Within unnamed namespaces they may.
Findings CheckTypeNamesAreUnique(const std::vector<SourceFile>& files);

// Headers promised to C++17 users include no fmt, directly or through other headers. That they
// compile as C++17 is checked by compiling them (tests/CMakeLists.txt).
Findings CheckPublicHeadersAreLean(const std::vector<SourceFile>& files,
                                   const std::vector<std::string>& public_headers);

// Each room that has a source has its page docs/NAME.md ("apps/cli" -> docs/cli.md), and the index
// docs/README.md has a link to it.
Findings CheckEveryRoomHasItsPage(const std::vector<SourceFile>& files);

// Each relative link of a page (*.md) leads to a file or folder of the repository; `exists` tells
// by its path from the root.
Findings CheckLinksLead(const std::vector<SourceFile>& files,
                        const std::function<bool(const std::string&)>& exists);

// The rooms and floors in the text of the top CMakeLists.txt ("# floor N", "chorus_room(NAME ...)")
// are those of Rooms().
Findings CheckBuildListsTheSameFloors(std::string_view cmake_lists);

// Every file below chorus/, tests/, examples/, bench/ and docs/ of the repository at `root`, with
// the top CMakeLists.txt and README.md; sorted by path. What npm fetches and builds is none of it.
std::vector<SourceFile> ReadTree(const std::string& root);

}  // namespace chorus::house
