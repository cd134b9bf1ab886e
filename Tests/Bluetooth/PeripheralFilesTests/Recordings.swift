/// Files as `ambit record` writes them.
enum Recordings {
  static let strap = """
    {
      "name": "Strap",
      "appearance": 833,
      "address": "C0:12:34:56:78:9A",
      "addressType": "random",
      "advertising": {
        "interval": 0.152,
        "data": "0201060303 0d18",
        "scanResponse": "06095374726170",
        "rssi": -48,
        "changes": [{ "at": 2, "data": "020106", "scanResponse": "06095374726170" }],
        "duration": 3.5
      },
      "services": [
        {
          "uuid": "180D",
          "includes": [1],
          "characteristics": [
            {
              "uuid": "2A37",
              "properties": ["notify"],
              "descriptors": [{ "uuid": "2901", "value": { "text": "Rate" } }],
              "notifications": [
                { "at": 0.2, "value": { "hex": "0048" } },
                { "at": 1.2, "value": { "hex": "0049" } }
              ]
            },
            {
              "uuid": "2A39",
              "properties": ["write"],
              "answers": [
                {
                  "write": { "hex": "01" },
                  "notifications": [{ "at": 0.03, "characteristic": "2A37", "value": { "hex": "00" } }]
                },
                { "write": { "hex": "02" }, "error": 128 }
              ]
            }
          ]
        },
        {
          "uuid": "180F",
          "characteristics": [
            { "uuid": "2A19", "properties": ["read", "notify"], "readError": 15 },
            { "uuid": "2A1B", "properties": ["read", "write"], "value": { "text": "two" } }
          ]
        }
      ],
      "duration": 2
    }
    """.replacing("0201060303 0d18", with: "02010603030d18")
}
