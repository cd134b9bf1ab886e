#if BindingServer
  import Testing

  @testable import AmbitPage

  @Suite("QR codes of addresses")
  struct QRCodeTests {
    /// Texts and the modules of their codes, row by row, a bit for each, made with the package qrcode 8 of
    /// Python: versions 1, 5, 7 and 10.
    private static let codes: [(text: String, modules: String)] = [
      (
        "ambit",
        "fe0bfc11506e8ebb7555dbacaec12907faafe00000c710c1e1ee2ddadc4a3eefe7fd806417fa5250584fba74"
          + "95d2f02e876f05bccfe8850"
      ),
      (
        "http://192.168.178.42:8080/?token="
          + "11551c9d418bc9e15135c99079713075ef88475ac57ac1f9",
        "fe2f57cbfc153d33d06e834fa6bb75d6c0a5dba41dfeaec16c161d07faaaaaafe00e55c400fbd0e0c5538578"
          + "f94137f9e2070bc0da5d51817eb6943e3800cbd618b8e1385eab8e53f769dab06adbaeae78a962b8f9e02ec7"
          + "d39a0f509ae0ac8cbb86c019923b38e4b2e271a652d53982114942bd25759d22acd9fb041f789a0d659b3cbe"
          + "87fe00600bc453fae6332bf042438718bad1685fadd774bf9eeeb9f2a707051a0c559fe8b58f338"
      ),
      (
        "https://museum.example/third-floor/north/ambit/?token=11551c9d418bc9e15135c99079"
          + "713075ef88475ac57ac1f9&guide=schön&room=12-and-13-and-the-stairs",
        "fe58d0174bfc166fadcc906e8d3f3fb4bb75237fc6b5dba3e4fdf3aec16434584107faaaaaaaafe00db71fd7"
          + "00fbb16fe00551c22892b0e7e3982ae84ed56a6ac0dd1542728e767315102f89ad84df7dda6695d88b8564a1"
          + "999e934ef343444fcd4032f4e1feab6aec1b9c21caa3fb874ffc1afd70fd0c472c4fcc5d6ac7ebb5eb0b12af"
          + "1db5177fc8bfc55fd4a7a0b67841ddf0034a3814f1abc1f5ac44611e54524cce770d8f620d6c7d2184b00b84"
          + "7c339254739fe9a50587ef42baf201429e1b0b3a0cf05e5515ac69bd0bfdc0fc0067a447846ffac0ebc3eb10"
          + "4dab175716ba89efc13f8dd6a2a650bfaeb95ffa4b1305687423214fe84a6aa7ad0"
      ),
      (
        String(repeating: "0123456789", count: 27) + "x",
        "fe5f4282d9b33fc160bf7e93aa906e9a9d2be42fcbb75a17a24528a5dba3f42be59392ec14c98515729107fa"
          + "aaaaaaaaaafe00f38fc7257300fbe8bd7e6d0155100fa1616c9a45c3968a650ff0bc8c3ab0317a93814af2cb"
          + "d746d2155720fa145e01640cd9a014d0ff0b88583a6313a1fd16eab8bd764f011576e7a145a41243f896bbe1"
          + "49d4be09072201fe1f397ffb8bd744d23350020a159e4564bc2ff38574bd4fd8f158451f217397a7eebd7629"
          + "4715b6d5a169a4524dcff5cc2f8f90ff9b1af8fc7a93b178ad8bd2a2b67ac4c74a1516c9a44d7e2c71f8ff0f"
          + "f94b3acf6ba9fbe4c25cbd4e09440d40f9a159289e5bd189fd36cfd0c5122daa86be1ffc5439abd0a0b640d1"
          + "033a1596cdaeb10cdfd96c9d4840b268d94be1f3f66a7abd084d22cc1edaa14928da39deaeb8528b92800411"
          + "0454b297bf58aecbd6e4f22cc26cda148a452a9e9e30b708f90809f073477ba93be7038abd7e6d20fc006da1"
          + "51e01644ffbd014a8ff0aa904ee6347a1fd16bababd3e4f01fd5d41a177a412872eb219e5c9d4bd105e81147"
          + "e1fc14fedebd140b64f50"
      ),
    ]

    @Test("a code has the modules that another encoder gives it")
    func modules() throws {
      for (text, modules) in Self.codes {
        let code = try #require(QRCode(text))
        var digits = ""
        var nibble = (value: 0, bitCount: 0)
        for index in 0..<(code.size * code.size + 3) / 4 * 4 {
          let isDark = code.isDark(x: index % code.size, y: index / code.size)
          nibble = (nibble.value << 1 | (isDark ? 1 : 0), nibble.bitCount + 1)
          guard nibble.bitCount == 4 else { continue }
          digits += String(nibble.value, radix: 16)
          nibble = (0, 0)
        }
        #expect(digits == modules, "\(text)")
      }
    }

    @Test("a text of 271 bytes has a code, and a longer one has none")
    func limit() {
      #expect(QRCode(String(repeating: "x", count: 271))?.size == 57)
      #expect(QRCode(String(repeating: "x", count: 272)) == nil)
      #expect(QRCode("")?.size == 21)
    }

    @Test("an address for other machines has a code below it, where the terminal is wide enough")
    func lines() {
      let address =
        "http://192.168.178.42:8080/?token=11551c9d418bc9e15135c99079713075ef88475ac57ac1f9"
      let lines = PrintedAddress.lines(for: address, columns: 45)
      #expect(lines.first == "Open \(address)" && lines.count == 24)
      let inside = lines.dropFirst().map { $0.split(separator: "m")[1].dropLast(3) }
      #expect(inside.allSatisfy { $0.count == 45 })
      #expect(inside.prefix(2).allSatisfy { $0.allSatisfy { $0 == " " } }, "the quiet zone")
      // The upper half of a finder pattern: its ring, the light ring in it, and its middle.
      #expect(inside.dropFirst(2).first?.hasPrefix("    █▀▀▀▀▀█ ") == true)
      #expect(inside.dropFirst(3).first?.hasPrefix("    █ ███ █ ") == true)
      for other in ["http://127.0.0.1:8080/?token=1", "http://[::1]:8080/?token=1"] {
        #expect(PrintedAddress.lines(for: other, columns: 200) == ["Open \(other)"])
      }
      #expect(PrintedAddress.lines(for: address, columns: 44).count == 1)
      #expect(PrintedAddress.lines(for: address, columns: 0).count == 1)
    }
  }
#endif
