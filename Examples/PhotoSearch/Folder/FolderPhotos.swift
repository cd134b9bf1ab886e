import Foundation
import PictureStore
import Reactive

/// The photographs in a folder, by the names of files and folders.
struct FolderPhotos: Photos {
  static let pageSize = 100

  let folder: PictureFolder
  private let thumbnails: PictureStore<PictureFolder.Failure>?

  /// - Parameter thumbnailer: Nil if the program is missing: then the browser scales the pictures.
  init(_ folder: PictureFolder, thumbnailer: Thumbnailer?) {
    self.folder = folder
    thumbnails = thumbnailer.map { thumbnailer in
      PictureStore(byteCountMax: 64 << 20, loadCountMax: 2) { name throws(PictureFolder.Failure) in
        let path = name.split(separator: "\0", maxSplits: 1).last.map(String.init) ?? ""
        let picture = try folder.open(path)
        return await thumbnailer.thumbnail(of: picture)
      }
    }
  }

  var name: String { "the folder “\(folder.name)”" }

  func search(_ text: String, page: Int) -> SignalProducer<PhotoPage, PhotosError> {
    let folder = folder
    return SignalProducer { observer, lifetime in
      // Reading folders waits for the disk.
      DispatchQueue.global().async {
        let matches = Self.matches(text, folder.paths { !lifetime.hasEnded })
        observer.send(value: Self.page(page, of: matches, in: folder))
        observer.sendCompleted()
      }
    }
  }

  func facts(of photo: Photo) -> SignalProducer<String, PhotosError> {
    let folder = folder
    return SignalProducer { observer, _ in
      // Reading the header waits for the disk.
      DispatchQueue.global().async {
        do throws(PictureFolder.Failure) {
          observer.send(value: try Self.facts(of: photo, in: folder))
          observer.sendCompleted()
        } catch {
          observer.send(error: .missing)
        }
      }
    }
  }

  /// The size of a picture, and of its file.
  private static func facts(
    of photo: Photo, in folder: PictureFolder
  ) throws(PictureFolder.Failure) -> String {
    let path = photo.picture.dropFirst("pictures/".count)
    let picture = try folder.open(String(path).removingPercentEncoding ?? "")
    let size = "\(picture.header.width) × \(picture.header.height)"
    // Two digits are enough.
    let thousands = Double(picture.byteCount) / 1_000
    let bytes =
      thousands < 1
      ? "\(picture.byteCount) bytes"
      : thousands < 1_000
        ? "\(Int(thousands.rounded())) kB"
        : "\((thousands / 100).rounded() / 10) MB"
    return "\(size), \(bytes)"
  }

  /// The paths in which all words of a text occur, in order.
  static func matches(_ text: String, _ paths: [String]) -> [String] {
    let words = folded(text).split(separator: " ")
    return paths.map { (path: $0, folded: folded($0)) }
      .filter { each in words.allSatisfy { each.folded.contains($0) } }
      .sorted { ($0.folded, $0.path) < ($1.folded, $1.path) }
      .map(\.path)
  }

  private static func folded(_ text: String) -> String {
    text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
      .replacing("_", with: " ")
  }

  private static func page(
    _ number: Int, of paths: [String], in folder: PictureFolder
  ) -> PhotoPage {
    let start = min((min(max(1, number), paths.count + 1) - 1) * pageSize, paths.count)
    let end = min(start + pageSize, paths.count)
    return PhotoPage(
      photos: paths[start..<end].map { photo(at: $0, in: folder) }, total: paths.count,
      next: end < paths.count ? number + 1 : nil)
  }

  private static func photo(at path: String, in folder: PictureFolder) -> Photo {
    let names = path.split(separator: "/")
    let file = names.last ?? ""
    let date = folder.date(of: path)
    return Photo(
      id: identity(of: path),
      title: file.lastIndex(of: ".").map { String(file[..<$0]) }?.replacing("_", with: " ") ?? "",
      owner: names.count > 1 ? names.dropLast().joined(separator: " / ") : folder.name,
      date: date?.formatted(.iso8601.year().month().day()) ?? "",
      thumbnail: "thumbnails/" + address(of: names), picture: "pictures/" + address(of: names))
  }

  /// What pages know a picture by, which has a bound: the path, or its end and a number for it.
  static func identity(of path: String) -> String {
    let bytes = Array(path.utf8)
    guard bytes.count > 200 else { return path }
    let number = bytes.reduce(UInt64(0xcbf2_9ce4_8422_2325)) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01b3
    }
    return String(number, radix: 16) + "…" + String(path.suffix(40))
  }

  private static func address(of names: [Substring]) -> String {
    var allowed = CharacterSet.alphanumerics.intersection(
      CharacterSet(charactersIn: "\0"..."\u{7F}"))
    allowed.insert(charactersIn: "-._~")
    return names.map { $0.addingPercentEncoding(withAllowedCharacters: allowed) ?? "" }
      .joined(separator: "/")
  }

  // MARK: Pictures

  /// A file of the site: a picture, or a small one of it.
  ///
  /// - Returns: Nil if the path isn't one of either.
  func picture(at path: String) async throws(PictureFolder.Failure) -> (Picture, version: String)? {
    let parts = path.split(separator: "/", maxSplits: 1).map(String.init)
    guard parts.count == 2, ["pictures", "thumbnails"].contains(parts[0]) else { return nil }
    let picture = try folder.open(parts[1])
    if parts[0] == "thumbnails", let thumbnails, Thumbnailer.isNeeded(for: picture) {
      guard let small = try await thumbnails.picture(named: picture.version + "\0" + parts[1])
      else {
        throw .notAPicture
      }
      return (small, picture.version + "-small")
    }
    let bytes = await withCheckedContinuation { continuation in
      // Reading waits for the disk.
      DispatchQueue.global().async { continuation.resume(returning: picture.bytes()) }
    }
    guard let bytes else { throw .missing }
    return (Picture(bytes, mediaType: picture.header.format.mediaType), picture.version)
  }
}
