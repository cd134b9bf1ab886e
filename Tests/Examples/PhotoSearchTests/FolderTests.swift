import Foundation
import PictureStore
import Reactive
import Testing

@testable import photo_search

@Suite("A folder of pictures")
struct FolderTests {
  private static func failure(_ folder: PictureFolder, _ path: String) -> PictureFolder.Failure? {
    do throws(PictureFolder.Failure) {
      _ = try folder.open(path)
      return nil
    } catch {
      return error
    }
  }

  @Test("a folder has the pictures in it and in its subfolders, and nothing else")
  func listed() throws {
    let (files, outside) = (try TestFolder(), try TestFolder())
    for name in ["a.png", "b/c.PNG", "b/d/e.png", "b/Ünï cødé #1%.png", ".hidden.png", ".x/y.png"] {
      try files.write(TestPicture.png(), to: name)
    }
    for name in ["notes.txt", "page.html", "script.js", "drawing.svg", "png"] {
      try files.write([1], to: name)
    }
    try outside.write(TestPicture.png(), to: "secret.png")
    try files.link("inside.png", to: files.path + "/a.png")
    try files.link("outside.png", to: outside.path + "/secret.png")
    try files.link("loop", to: files.path)
    try files.link("others", to: outside.path)
    try files.link("nowhere.png", to: "/does/not/exist.png")
    #expect(mkfifo(files.path + "/pipe.png", 0o600) == 0)
    let folder = try files.folder()
    #expect(
      folder.paths().sorted()
        == ["a.png", "b/c.PNG", "b/d/e.png", "b/Ünï cødé #1%.png", "inside.png"])
    for path in folder.paths() { #expect(Self.failure(folder, path) == nil, "\(path)") }
    #expect(folder.paths(while: { false }) == [])
  }

  @Test
  func `The facts of a picture in a folder are its size and that of its file`() async throws {
    let files = try TestFolder()
    let (small, large) = (
      TestPicture.png(width: 8, height: 6), TestPicture.png(width: 40, height: 30)
    )
    try files.write(small, to: "a/Ü 1%.png")
    try files.write(large, to: "a/Ü 2%.png")
    let photos = FolderPhotos(try files.folder(), thumbnailer: nil)
    func result<Value: Sendable>(
      _ producer: SignalProducer<Value, PhotosError>
    ) async -> Result<Value, PhotosError> {
      await withCheckedContinuation { continuation in
        producer.take(first: 1).startWithResult { continuation.resume(returning: $0) }
      }
    }
    let found = try await result(photos.search("ü", page: 1)).get().photos
    try #require(found.count == 2)
    let photo = found[0]
    #expect(await result(photos.facts(of: photo)) == .success("8 × 6, \(small.count) bytes"))
    let thousands = Int((Double(large.count) / 1_000).rounded())
    #expect(await result(photos.facts(of: found[1])) == .success("40 × 30, \(thousands) kB"))
    try FileManager.default.removeItem(atPath: files.path + "/a/Ü 1%.png")
    #expect(await result(photos.facts(of: photo)) == .failure(.missing))
  }

  @Test("a folder opens no file outside of it, whatever the name")
  func traversal() throws {
    let (files, outside) = (try TestFolder(), try TestFolder())
    try files.write(TestPicture.png(), to: "in/a.png")
    try outside.write(TestPicture.png(), to: "secret.png")
    let neighbour = files.path + "-other"
    try FileManager.default.createDirectory(atPath: neighbour, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: neighbour) }
    try Data(TestPicture.png()).write(to: URL(filePath: neighbour + "/a.png"))
    try files.link("outside.png", to: outside.path + "/secret.png")
    try files.link("others", to: outside.path)
    #expect(mkfifo(files.path + "/pipe.png", 0o600) == 0)
    try FileManager.default.createDirectory(
      atPath: files.path + "/folder.png", withIntermediateDirectories: true)
    let folder = try files.folder()
    let name = URL(filePath: outside.path).lastPathComponent
    for path in [
      "", "/", ".", "..", "../\(name)/secret.png", "in/../in/a.png", "./in/a.png", "in//a.png",
      "/in/a.png", "in/a.png/", outside.path + "/secret.png", "outside.png", "others/secret.png",
      "../" + URL(filePath: neighbour).lastPathComponent + "/a.png", "in\\a.png", "in/a.png\0.png",
      "in/a.png\n", "pipe.png", "folder.png", "in", "in/a.jpg", "/dev/zero", "/dev/zero.png",
      String(repeating: "a/", count: 5_000) + "a.png",
      String(repeating: "x", count: 5_000) + ".png",
    ] {
      #expect(Self.failure(folder, path) == .missing, "\(path.prefix(60))")
    }
    #expect(Self.failure(folder, "in/a.png") == nil)
  }

  @Test("a folder refuses pictures that take too much memory, and files that are no pictures")
  func bombs() throws {
    let files = try TestFolder()
    try files.write(TestPicture.header(width: 60_000, height: 60_000), to: "bomb.png")
    try files.write(TestPicture.header(width: 0x7FFF_FFFF, height: 0x7FFF_FFFF), to: "wider.png")
    try files.write(Array("<script>alert(1)</script>".utf8), to: "page.png")
    try files.write([], to: "empty.jpg")
    try files.write([], to: "large.png")
    #expect(truncate(files.path + "/large.png", PictureFolder.fileByteCountMax + 1) == 0)
    let folder = try files.folder()
    #expect(Self.failure(folder, "bomb.png") == .tooLarge)
    #expect(Self.failure(folder, "wider.png") == .tooLarge)
    #expect(Self.failure(folder, "large.png") == .tooLarge)
    #expect(Self.failure(folder, "page.png") == .notAPicture)
    #expect(Self.failure(folder, "empty.jpg") == .notAPicture)
  }

  @Test("a path is refused if there is no such folder")
  func noFolder() throws {
    let files = try TestFolder()
    try files.write([1], to: "file")
    for path in [files.path + "/file", files.path + "/none", ""] {
      #expect(throws: PictureFolder.Failure.missing) { try PictureFolder(path) }
    }
  }

  // MARK: Searching

  private static func search(
    _ photos: FolderPhotos, _ text: String, page: Int = 1
  ) async throws -> PhotoPage {
    try await withCheckedThrowingContinuation { continuation in
      photos.search(text, page: page).startWithResult { continuation.resume(with: $0) }
    }
  }

  @Test("a folder is searched by the names of files and folders, in any case and with any accents")
  func searched() async throws {
    let files = try TestFolder()
    for name in [
      "Zürich/See_1.png", "Zürich/see-2.png", "zurich station.png", "beach/IMG 10.png",
      "beach/IMG_2.png",
    ] {
      try files.write(TestPicture.png(), to: name)
    }
    let photos = FolderPhotos(try files.folder(), thumbnailer: nil)
    let zurich = try await Self.search(photos, "zurich")
    #expect(zurich.photos.map(\.title) == ["zurich station", "See 1", "see-2"])
    #expect(zurich.total == 3 && zurich.next == nil)
    #expect(zurich.photos.last?.owner == "Zürich")
    #expect(zurich.photos.first?.owner == URL(filePath: files.path).lastPathComponent)
    #expect(zurich.photos.last?.picture == "pictures/Z%C3%BCrich/see-2.png")
    #expect(zurich.photos.last?.thumbnail == "thumbnails/Z%C3%BCrich/see-2.png")
    #expect(try await Self.search(photos, "SEE zur").photos.count == 2)
    #expect(try await Self.search(photos, "img beach").photos.map(\.id).count == 2)
    #expect(try await Self.search(photos, "nothing") == PhotoPage())
    try FileManager.default.removeItem(atPath: files.path + "/Zürich")
    #expect(try await Self.search(photos, "zurich").total == 1, "it is as it is at the time")
    try FileManager.default.removeItem(atPath: files.path)
    #expect(try await Self.search(photos, "zurich") == PhotoPage())
  }

  @Test("a folder of ten thousand pictures is searched in a moment, a hundred at a time")
  func many() async throws {
    let files = try TestFolder()
    try files.write(TestPicture.png(), to: "first.png")
    for number in 1..<10_000 {
      if number == 1 || number.isMultiple(of: 500) {
        try FileManager.default.createDirectory(
          atPath: "\(files.path)/\(number / 500)", withIntermediateDirectories: true)
      }
      #expect(
        link("\(files.path)/first.png", "\(files.path)/\(number / 500)/img_\(number).png") == 0)
    }
    let photos = FolderPhotos(try files.folder(), thumbnailer: nil)
    let clock = ContinuousClock()
    let start = clock.now
    let all = try await Self.search(photos, "img")
    let time = start.duration(to: clock.now)
    print("10,000 pictures: \(time)")
    #expect(all.total == 9_999 && all.photos.count == 100 && all.next == 2)
    #expect(time < .seconds(60), "a tenth of one, where nothing else runs")
    let last = try await Self.search(photos, "img", page: 100)
    #expect(last.photos.count == 99 && last.next == nil)
    #expect(try await Self.search(photos, "img", page: 101).photos == [])
    #expect(try await Self.search(photos, "img", page: .max).photos == [])
    #expect(Set(all.photos.map(\.id)).isDisjoint(with: last.photos.map(\.id)))
  }

  @Test("a folder gives its pictures identities that are short and differ")
  func identities() {
    let long = String(repeating: "folder/", count: 60)
    let ids = ["a.png", long + "a.png", long + "b.png", "x/" + long + "a.png"]
      .map { FolderPhotos.identity(of: $0) }
    #expect(Set(ids).count == 4 && ids[0] == "a.png")
    for id in ids { #expect(id.utf8.count <= 256) }
  }
}

@Suite("Pictures of a folder, as they are sent")
struct FolderPictureTests {
  /// Makes a thumbnailer of a shell script.
  private static func thumbnailer(_ script: String, timeMax: Double = 15) throws -> (
    TestFolder, Thumbnailer?
  ) {
    let folder = try TestFolder()
    try folder.write(Array("#!/bin/sh\n\(script)\n".utf8), to: "gdk-pixbuf-thumbnailer")
    chmod(folder.path + "/gdk-pixbuf-thumbnailer", 0o755)
    return (folder, Thumbnailer(path: "/none:\(folder.path)", timeMax: timeMax))
  }

  private static let large = TestPicture.png(width: 400, height: 300)

  @Test("pictures are small if a small one is requested", .enabled(if: Thumbnailer() != nil))
  func small() async throws {
    let files = try TestFolder()
    try files.write(Self.large, to: "large photo.png")
    try files.write(TestPicture.png(width: 1_000, height: 350), to: "wide.png")
    try files.write(TestPicture.png(), to: "little.png")
    let photos = FolderPhotos(try files.folder(), thumbnailer: Thumbnailer())
    let (small, _) = try #require(try await photos.picture(at: "thumbnails/large photo.png"))
    #expect(small.bytes.count < Self.large.count / 3 && small.mediaType == "image/png")
    let (wide, version) = try #require(try await photos.picture(at: "thumbnails/wide.png"))
    let header = PictureHeader { Array(wide.bytes.dropFirst($0).prefix($1)) }
    #expect(header?.width == 512 && header?.height == 179)
    let (whole, other) = try #require(try await photos.picture(at: "pictures/wide.png"))
    #expect(whole.bytes == TestPicture.png(width: 1_000, height: 350) && version != other)
    let (little, _) = try #require(try await photos.picture(at: "thumbnails/little.png"))
    #expect(little.bytes == TestPicture.png(), "what is small is sent as it is")
  }

  @Test("pictures are upright, however the camera was held", .enabled(if: Thumbnailer() != nil))
  func upright() async throws {
    let files = try TestFolder()
    for orientation: UInt8 in [1, 6] {
      try files.write(try TestPicture.jpeg(orientation: orientation), to: "a.jpg")
      let picture = try files.folder().open("a.jpg")
      #expect(picture.header.format == .jpeg && picture.header.width == 16)
      let thumbnail = try #require(await Thumbnailer()?.thumbnail(of: picture))
      let header = PictureHeader { Array(thumbnail.bytes.dropFirst($0).prefix($1)) }
      let small = try #require(header)
      #expect((small.width > small.height) == (orientation == 1))
    }
  }

  @Test("pictures are scaled again when the file changes", .enabled(if: Thumbnailer() != nil))
  func changed() async throws {
    let files = try TestFolder()
    try files.write(Self.large, to: "a.png")
    let photos = FolderPhotos(try files.folder(), thumbnailer: Thumbnailer())
    let (before, first) = try #require(try await photos.picture(at: "thumbnails/a.png"))
    try files.write(TestPicture.png(width: 400, height: 300, red: 20), to: "a.png")
    let (after, second) = try #require(try await photos.picture(at: "thumbnails/a.png"))
    #expect(before != after && first != second)
    try FileManager.default.removeItem(atPath: files.path + "/a.png")
    await #expect(throws: PictureFolder.Failure.missing) {
      try await photos.picture(at: "thumbnails/a.png")
    }
  }

  @Test("pictures that can't be scaled are refused", .enabled(if: Thumbnailer() != nil))
  func damaged() async throws {
    let files = try TestFolder()
    let noise = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 3) }
    try files.write([0xFF, 0xD8, 0xFF, 0xC0, 0, 17, 8, 1, 0, 1, 0, 3] + noise, to: "damaged.jpg")
    let photos = FolderPhotos(try files.folder(), thumbnailer: Thumbnailer())
    await #expect(throws: PictureFolder.Failure.notAPicture) {
      try await photos.picture(at: "thumbnails/damaged.jpg")
    }
  }

  @Test(
    "pictures are refused when the program is silent, endless, or sends something else",
    arguments: ["exec sleep 60", "exec yes", "echo no picture", "exit 3", "kill -SEGV $$", ""])
  func program(_ script: String) async throws {
    let files = try TestFolder()
    try files.write(Self.large, to: "a.png")
    let (folder, thumbnailer) = try Self.thumbnailer(script, timeMax: 1)
    #expect(thumbnailer != nil)
    let photos = FolderPhotos(try files.folder(), thumbnailer: thumbnailer)
    await #expect(throws: PictureFolder.Failure.notAPicture) {
      try await photos.picture(at: "thumbnails/a.png")
    }
    #expect(try await photos.picture(at: "pictures/a.png") != nil, "and it goes on")
    withExtendedLifetime(folder) {}
  }

  @Test("pictures are scaled by the browser if there is no such program")
  func noProgram() async throws {
    let files = try TestFolder()
    try files.write(Self.large, to: "a.png")
    #expect(Thumbnailer(path: files.path) == nil && Thumbnailer(path: "") == nil)
    let photos = FolderPhotos(try files.folder(), thumbnailer: nil)
    let (picture, _) = try #require(try await photos.picture(at: "thumbnails/a.png"))
    #expect(picture.bytes == Self.large)
  }

  @Test("pictures are served under the two paths only")
  func paths() async throws {
    let files = try TestFolder()
    try files.write(TestPicture.png(), to: "a.png")
    let photos = FolderPhotos(try files.folder(), thumbnailer: nil)
    for path in ["a.png", "other/a.png", "pictures", "", "/a.png", "Pictures/a.png"] {
      #expect(try await photos.picture(at: path) == nil, "\(path)")
    }
  }
}
