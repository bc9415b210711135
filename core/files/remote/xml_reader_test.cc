#include "core/files/remote/xml_reader.h"

#include "absl/strings/str_cat.h"
#include "core/testing.h"

namespace weir {
namespace {

TEST(XmlReaderTest, ReadsElementsTextAndEntities) {
  ASSERT_OK_AND_ASSIGN(const XmlElement root,
                       ParseXml("<?xml version=\"1.0\"?>\n<!-- a --><s:List xmlns:s=\"urn:x\"><Key a='1'>a&amp;b&#233;"
                                "&#x20AC;<![CDATA[<&>]]></Key><Empty/><Key>second</Key></s:List>\n"));
  EXPECT_EQ(root.name, "List");
  EXPECT_EQ(root.Text("Key"), "a&b\u00e9\u20ac<&>");
  EXPECT_EQ(root.Text("Empty"), "");
  EXPECT_EQ(root.children.size(), 3);
  EXPECT_EQ(root.Find("Absent"), nullptr);
  ASSERT_OK_AND_ASSIGN(const XmlElement again, ParseXml(absl::StrCat("<a>", XmlEscaped("<'&\">"), "</a>")));
  EXPECT_EQ(again.text, "<'&\">");
}

TEST(XmlReaderTest, OtherTextIsDataLoss) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  for (const std::string& text :
       {std::string(), std::string("text"), std::string("<"), std::string("<>"), std::string("<a"), std::string("<a>"),
        std::string("<a></b>"), std::string("<a>&x;</a>"), std::string("<a>&#1114112;</a>"), std::string("<a>&amp</a>"),
        std::string("<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>"), std::string("<a/><b/>"), std::string("<a><!--</a>"),
        std::string("<a><![CDATA[</a>"), deep}) {
    EXPECT_THAT(ParseXml(text), StatusIs(absl::StatusCode::kDataLoss)) << text.substr(0, 40);
  }
}

TEST(XmlReaderTest, APartOfADocumentIsNone) {
  const std::string document = "<?xml version=\"1.0\"?><a x='1'><b>c&lt;</b><!-- d --><e/><![CDATA[f]]></a>";
  for (size_t size = 0; size < document.size(); ++size) {
    EXPECT_THAT(ParseXml(document.substr(0, size)), StatusIs(absl::StatusCode::kDataLoss)) << size;
  }
}

}  // namespace
}  // namespace weir
