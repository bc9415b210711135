#include "core/checkpoint/stored_generations.h"

#include <functional>

#include "core/checkpoint/checkpoint_lease.h"
#include "core/checkpoint/manifest.h"
#include "core/testing.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Named {
  std::string name;
  int64_t generation = 0;
  uint64_t token = 1;
};

void Add(
    StoreContents* store, const Named& generation, int shard, int of,
    const std::function<void(CheckpointManifest&)>& change = [](CheckpointManifest&) {}) {
  CheckpointManifest manifest;
  manifest.set_generation_name(generation.name);
  manifest.set_generation(generation.generation);
  manifest.set_token(generation.token);
  manifest.set_global_step(generation.generation * 10);
  change(manifest);
  const std::string prefix = ShardPrefix("m", generation.name, shard, of);
  const absl::StatusOr<std::string> text = PrintManifest(manifest);
  ASSERT_THAT(text, IsOk());
  store->manifests.push_back({absl::StrCat(prefix.substr(std::string("store://m/").size()), ".manifest"), *text});
}

std::vector<std::string> NamesOf(const StoredGenerations& found) {
  std::vector<std::string> names;
  for (const StoredGeneration& generation : found.newest_first) names.push_back(generation.name);
  return names;
}

TEST(StoredGenerationsTest, AShardMayBeInAnyStore) {
  std::vector<StoreContents> stores(3);
  const Named g{"1-a-10", 1};
  Add(&stores[0], g, 0, 2);
  Add(&stores[1], g, 1, 2);
  Add(&stores[2], g, 1, 2);
  const StoredGenerations found = FindGenerations(stores);
  ASSERT_THAT(found.newest_first, SizeIs(1));
  EXPECT_TRUE(found.newest_first[0].IsWhole());
  EXPECT_EQ(found.newest_first[0].step, 10);
  EXPECT_THAT(found.newest_first[0].shards.at(0).stores, ElementsAre(0));
  EXPECT_THAT(found.newest_first[0].shards.at(1).stores, ElementsAre(1, 2));
  EXPECT_THAT(found.damaged, IsEmpty());
}

TEST(StoredGenerationsTest, WithoutAllShardsAGenerationIsNotWhole) {
  std::vector<StoreContents> stores(2);
  Add(&stores[0], {"1-a-10", 1}, 2, 3);
  Add(&stores[1], {"1-a-10", 1}, 0, 3);
  ASSERT_THAT(FindGenerations(stores).newest_first, SizeIs(1));
  EXPECT_FALSE(FindGenerations(stores).newest_first[0].IsWhole());
}

TEST(StoredGenerationsTest, NewerLeasesComeFirstThenNewerNumbers) {
  std::vector<StoreContents> stores(1);
  Add(&stores[0], {"9-a-90", 9, 1}, 0, 1);
  Add(&stores[0], {"10-b-100", 10, 1}, 0, 1);
  Add(&stores[0], {"9-c-90", 9, 2}, 0, 1);
  EXPECT_THAT(NamesOf(FindGenerations(stores)), ElementsAre("9-c-90", "10-b-100", "9-a-90"));
}

TEST(StoredGenerationsTest, AManifestOfAnotherGenerationDoesNotCount) {
  std::vector<StoreContents> stores(2);
  const Named older{"1-a-10", 1}, newer{"2-b-20", 2};
  Add(&stores[0], newer, 0, 2);
  Add(&stores[1], newer, 1, 2, [&](CheckpointManifest& manifest) { manifest.set_generation_name(older.name); });
  const StoredGenerations found = FindGenerations(stores);
  EXPECT_THAT(found.damaged, ElementsAre("2-b-20/shard-00001-of-00002.manifest"));
  ASSERT_THAT(found.newest_first, SizeIs(1));
  EXPECT_FALSE(found.newest_first[0].IsWhole());
}

TEST(StoredGenerationsTest, DamagedManifestsAndOtherNumbersOfShardsDoNotCount) {
  std::vector<StoreContents> stores(1);
  const Named g{"1-a-10", 1};
  Add(&stores[0], g, 0, 1);
  Add(&stores[0], g, 1, 2);
  stores[0].manifests.push_back({"3-c-30/shard-00000-of-00001.manifest", "generation: x"});
  const StoredGenerations found = FindGenerations(stores);
  EXPECT_THAT(found.damaged, SizeIs(2));
  EXPECT_THAT(NamesOf(found), ElementsAre("1-a-10"));
}

TEST(StoredGenerationsTest, ContentsAreReadFromADirectory) {
  const std::unique_ptr<FileSystem> files = NewMemoryFileSystem();
  ASSERT_OK_AND_ASSIGN(const StoreContents none, ReadStoreContents(files.get(), "mem://m"));
  EXPECT_THAT(none.directories, IsEmpty());
  ASSERT_THAT(files->CreateDir("mem://m/1-a-10"), IsOk());
  ASSERT_THAT(files->CreateDir("mem://m/restoring-1-a-10"), IsOk());
  ASSERT_THAT(WriteStringToFile(files.get(), JoinPath("mem://m", kCheckpointLeaseFile), "token: 7"), IsOk());
  const std::string shard = "mem://m/1-a-10/shard-00000-of-00001";
  for (const char* end : {".manifest", ".index", ".data-00000-of-00001"}) {
    ASSERT_THAT(WriteStringToFile(files.get(), shard + end, end), IsOk());
  }
  ASSERT_OK_AND_ASSIGN(const StoreContents contents, ReadStoreContents(files.get(), "mem://m"));
  EXPECT_EQ(contents.lease, "token: 7");
  EXPECT_THAT(contents.directories, ElementsAre("1-a-10", "restoring-1-a-10"));
  ASSERT_THAT(contents.manifests, SizeIs(1));
  EXPECT_EQ(contents.manifests[0].path, "1-a-10/shard-00000-of-00001.manifest");
  EXPECT_EQ(contents.manifests[0].text, ".manifest");
}

}  // namespace
}  // namespace weir
