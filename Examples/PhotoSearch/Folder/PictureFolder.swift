import Foundation
import Glibc

/// The pictures in a folder and the folders in it, as they are at the time. Nothing is written.
struct PictureFolder: Sendable {
  /// Why a picture isn't to be had.
  enum Failure: Error, Equatable {
    /// The folder has no picture of this name.
    case missing
    /// There is one, which can't be read.
    case unreadable
    /// There is one, which would take too much memory to show.
    case tooLarge
    /// There is a file of this name, which is no picture.
    case notAPicture
  }

  /// Larger files are no photographs.
  static let fileByteCountMax = 64 << 20
  /// What cameras have; it takes half a gigabyte to show.
  static let pixelCountMax = 128_000_000
  /// How many files and folders are looked at.
  static let entryCountMax = 100_000
  static let depthMax = 16
  static let extensions: Set = ["png", "jpg", "jpeg", "gif", "webp"]

  private let root: String
  /// What the paths of all files in the folder begin with.
  private let prefix: String

  /// - Throws: ``Failure/missing`` if there is no such folder.
  init(_ path: String) throws(Failure) {
    var isFolder: ObjCBool = false
    guard let resolved = realpath(path, nil) else { throw .missing }
    defer { free(resolved) }
    root = String(cString: resolved)
    prefix = root.hasSuffix("/") ? root : root + "/"
    guard FileManager.default.fileExists(atPath: root, isDirectory: &isFolder), isFolder.boolValue
    else { throw .missing }
  }

  // MARK: Names

  /// The paths of all pictures, in the order of the folder's entries. Hidden ones, and folders that
  /// can't be read, are skipped; links to files of the folder are followed, others aren't.
  ///
  /// - Parameter isWanted: Whether the caller still waits for the paths.
  func paths(while isWanted: () -> Bool = { true }) -> [String] {
    var paths: [String] = []
    var folders = [("", 0)]
    var entryCount = 0
    while let (folder, depth) = folders.popLast(), isWanted() {
      for (name, kind) in Self.entries(of: prefix + folder) {
        entryCount += 1
        guard entryCount <= Self.entryCountMax else { return paths }
        let path = folder.isEmpty ? name : folder + "/" + name
        if kind == .folder {
          if depth + 1 < Self.depthMax { folders.append((path, depth + 1)) }
        } else if Self.isPicture(name), kind == .file || isHere(path) {
          paths.append(path)
        }
      }
    }
    return paths
  }

  static func isPicture(_ name: String) -> Bool {
    guard let dot = name.lastIndex(of: ".") else { return false }
    return extensions.contains(name[name.index(after: dot)...].lowercased())
  }

  private enum Kind { case file, folder, other }

  /// The entries of a folder that have names for a page: those that are text, and aren't hidden.
  private static func entries(of path: String) -> [(String, Kind)] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var entries: [(String, Kind)] = []
    while let entry = readdir(folder), entries.count <= entryCountMax {
      let name = withUnsafeBytes(of: entry.pointee.d_name) {
        String(validating: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard let name, isName(name) else { continue }
      let kind: Kind =
        switch Int(entry.pointee.d_type) {
        case Int(DT_REG): .file
        case Int(DT_DIR): .folder
        default: .other
        }
      entries.append((name, kind))
    }
    return entries
  }

  /// Whether a name in a path stays inside its folder, and can be a part of an address.
  private static func isName(_ name: some StringProtocol) -> Bool {
    !name.isEmpty && !name.hasPrefix(".")
      && !name.unicodeScalars.contains {
        $0 == "\\" || $0 == "/" || $0.properties.generalCategory == .control
      }
  }

  /// Whether a link, or what the file system doesn't tell the kind of, is a file of this folder.
  private func isHere(_ path: String) -> Bool {
    var status = stat()
    guard stat(prefix + path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      let resolved = realpath(prefix + path, nil)
    else { return false }
    defer { free(resolved) }
    return String(cString: resolved).hasPrefix(prefix)
  }

  /// The name of the folder itself.
  var name: String { root.split(separator: "/").last.map(String.init) ?? "/" }

  /// When a file was last changed; nil if it is gone.
  func date(of path: String) -> Date? {
    var status = stat()
    guard stat(prefix + path, &status) == 0 else { return nil }
    return Date(timeIntervalSince1970: TimeInterval(status.st_mtim.tv_sec))
  }

  // MARK: Pictures

  /// A picture that is open.
  struct OpenPicture: Sendable {
    let file: FileHandle
    let header: PictureHeader
    let byteCount: Int
    /// Changes when the file does.
    let version: String

    func bytes() -> [UInt8]? {
      guard (try? file.seek(toOffset: 0)) != nil,
        let data = try? file.read(upToCount: byteCount), data.count == byteCount
      else { return nil }
      return Array(data)
    }
  }

  /// Opens a picture of the folder.
  func open(_ path: String) throws(Failure) -> OpenPicture {
    let names = path.split(separator: "/", omittingEmptySubsequences: false)
    guard names.count <= Self.depthMax, names.allSatisfy({ Self.isName($0) }),
      Self.isPicture(path)
    else { throw .missing }
    // A pipe must not make it wait.
    let descriptor = Glibc.open(prefix + path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { throw errno == EACCES || errno == EPERM ? .unreadable : .missing }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    var status = stat()
    guard isHere(descriptor), fstat(descriptor, &status) == 0,
      status.st_mode & S_IFMT == S_IFREG
    else { throw .missing }
    guard status.st_size <= Self.fileByteCountMax else { throw .tooLarge }
    let header = PictureHeader { offset, count in
      var bytes = [UInt8](repeating: 0, count: count)
      let read = pread(descriptor, &bytes, count, offset)
      return Array(bytes.prefix(max(0, read)))
    }
    guard let header else { throw .notAPicture }
    guard header.width <= Self.pixelCountMax / header.height else { throw .tooLarge }
    let time = status.st_mtim
    return OpenPicture(
      file: file, header: header, byteCount: Int(status.st_size),
      version: "\(status.st_ino)-\(status.st_size)-\(time.tv_sec)-\(time.tv_nsec)")
  }

  /// Whether the opened file is in the folder, after all links. Checked after opening, so that the
  /// links can't be changed in between.
  private func isHere(_ descriptor: Int32) -> Bool {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/fd/\(descriptor)", &buffer, Int(PATH_MAX))
    guard count > 0 else { return false }
    return String(decoding: buffer.prefix(count), as: UTF8.self).hasPrefix(prefix)
  }
}
