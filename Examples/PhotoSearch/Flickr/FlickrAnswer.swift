import JSONWire

/// An answer of `flickr.photos.search`, as it is documented (https://www.flickr.com/services/api/),
/// in JSON without a callback.
struct FlickrAnswer: Equatable, Sendable {
  struct Photo: Equatable, Sendable {
    var id: String
    var secret: String
    var server: String
    var title: String
    var owner: String
    var taken: String
  }

  var photos: [Photo]
  var page: Int
  var pages: Int
  var total: Int

  /// Longer titles and error messages are cut.
  private static let characterCountMax = 200

  /// Reads an answer, whose length is for the caller to bound.
  init(_ bytes: [UInt8]) throws(PhotosError) {
    let answer = try Self.accepted(bytes)
    guard let list = answer["photos"], case .array(let photos) = list["photo"],
      let page = list["page"]?.number, let pages = list["pages"]?.number,
      let total = list["total"]?.number
    else { throw .malformed }
    // One that isn't as it should be is left out, as the others are.
    self.photos = photos.compactMap { Photo($0) }
    self.page = page
    self.pages = pages
    self.total = total
  }

  /// The number in an answer of `flickr.photos.getFavorites`.
  static func favoriteCount(_ bytes: [UInt8]) throws(PhotosError) -> Int {
    guard let total = try ofPhoto(bytes)["photo"]?["total"]?.number else { throw .malformed }
    return total
  }

  /// The number of comments in an answer of `flickr.photos.getInfo`.
  static func commentCount(_ bytes: [UInt8]) throws(PhotosError) -> Int {
    guard let count = try ofPhoto(bytes)["photo"]?["comments"]?["_content"]?.number else {
      throw .malformed
    }
    return count
  }

  /// An answer about one photograph, if Flickr has it and shows it to everybody.
  private static func ofPhoto(_ bytes: [UInt8]) throws(PhotosError) -> JSON {
    // The documented codes “Photo not found” and “Permission denied” of both methods.
    if let answer = try? JSON(parsing: bytes), answer["stat"]?.text == "fail",
      let code = answer["code"]?.number, code == 1 || code == 2
    {
      throw .missing
    }
    return try accepted(bytes)
  }

  /// An answer that is no refusal.
  private static func accepted(_ bytes: [UInt8]) throws(PhotosError) -> JSON {
    guard let answer = try? JSON(parsing: bytes) else { throw .malformed }
    switch answer["stat"]?.text {
    case "ok": return answer
    case "fail":
      throw .refused(
        String((answer["message"]?.text ?? "no reason given").prefix(characterCountMax)))
    default: throw .malformed
    }
  }
}

extension FlickrAnswer.Photo {
  /// Nil without what its address is made of.
  fileprivate init?(_ json: JSON) {
    guard let id = json["id"]?.text, let secret = json["secret"]?.text,
      let server = json["server"]?.text, [id, secret, server].allSatisfy(Self.isPart)
    else { return nil }
    self.id = id
    self.secret = secret
    self.server = server
    func text(_ name: String) -> String { String((json[name]?.text ?? "").prefix(200)) }
    title = text("title")
    owner = text("ownername")
    taken = String(text("datetaken").prefix { $0 != " " })
  }

  /// Whether a text can be a part of a picture's address: all of Flickr's are numbers, with digits of
  /// any base.
  static func isPart(_ text: String) -> Bool {
    (1...40).contains(text.utf8.count)
      && text.utf8.allSatisfy {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
          || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
      }
  }
}

extension JSON {
  /// A member of an object.
  fileprivate subscript(_ name: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.key == name }?.value
  }

  /// A text. Numbers, such as ids, come as either.
  fileprivate var text: String? {
    switch self {
    case .string(let text): text
    case .integer(let number): String(number)
    case .null, .bool, .number, .array, .object: nil
    }
  }

  /// A number that isn't negative; totals come as texts, too.
  fileprivate var number: Int? { text.flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil } }
}
