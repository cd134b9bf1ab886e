#if Messaging
  extension String {
    /// The beginning, of as many whole characters of Unicode as have no more bytes.
    func prefix(byteCountMax: Int) -> String {
      guard utf8.count > byteCountMax else { return self }
      var count = 0
      var end = unicodeScalars.startIndex
      for index in unicodeScalars.indices {
        count += UTF8.width(unicodeScalars[index])
        guard count <= byteCountMax else { break }
        end = unicodeScalars.index(after: index)
      }
      return String(unicodeScalars[..<end])
    }
  }
#endif
