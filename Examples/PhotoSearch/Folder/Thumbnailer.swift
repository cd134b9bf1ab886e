import Foundation
import PictureStore

/// Makes small pictures of large ones, with the program that desktops make thumbnails with, in a
/// process of its own: a malicious file can't crash this one.
///
/// See docs/decisions/0161-thumbnails-are-made-by-gdk-pixbuf.md.
struct Thumbnailer: Sendable {
  static let sideMax = 512
  /// Pictures smaller than both of these are sent unchanged.
  static let smallByteCount = 150_000
  static let smallPixelCount = 1_000_000
  static let byteCountMax = 4 << 20
  /// Of address space, in bytes: enough for each picture that is let through.
  private static let memoryMax = 2 << 30

  private let path: String
  private let timeMax: Double

  /// - Parameter timeMax: Seconds, after which a picture is given up.
  /// - Returns: Nil where the program isn't installed.
  init?(
    path folders: String = ProcessInfo.processInfo.environment["PATH"] ?? "", timeMax: Double = 15
  ) {
    let names = folders.split(separator: ":").map { "\($0)/gdk-pixbuf-thumbnailer" }
    guard let path = names.first(where: { FileManager.default.isExecutableFile(atPath: $0) })
    else { return nil }
    self.path = path
    self.timeMax = timeMax
  }

  /// Whether a picture is shown in a smaller one's place.
  static func isNeeded(for picture: PictureFolder.OpenPicture) -> Bool {
    let header = picture.header
    // Animations stay such; and the program has no reader for WebP everywhere.
    guard header.format == .jpeg || header.format == .png else { return false }
    return picture.byteCount > smallByteCount || header.width * header.height > smallPixelCount
  }

  /// The small picture, a PNG file; nil if none can be made.
  func thumbnail(of picture: PictureFolder.OpenPicture) async -> Picture? {
    guard (try? picture.file.seek(toOffset: 0)) != nil else { return nil }
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/prlimit")
    process.arguments = [
      "--as=\(Self.memoryMax)", "--cpu=\(Int(timeMax.rounded(.up)))", "--core=0", path,
      "-s", "\(Self.sideMax)", "/dev/stdin", "/dev/stdout",
    ]
    process.standardInput = picture.file
    process.standardError = FileHandle.nullDevice
    let output = Pipe()
    process.standardOutput = output
    let bytes: [UInt8]? = await withCheckedContinuation { continuation in
      // Waits for the process, so it has a thread of its own; they are as few as pictures are made
      // at a time.
      let run = UncheckedRun(process: process, output: output, timeMax: timeMax)
      Thread.detachNewThread { continuation.resume(returning: run.bytes()) }
    }
    guard let bytes, PictureHeader({ Array(bytes.dropFirst($0).prefix($1)) })?.format == .png
    else { return nil }
    return Picture(bytes, mediaType: PictureHeader.Format.png.mediaType)
  }

  /// A process that is about to run. Used only by the thread that it is passed to; another thread
  /// only reads whether it runs, which `Process` allows.
  private struct UncheckedRun: @unchecked Sendable {
    let process: Process
    let output: Pipe
    let timeMax: Double

    func bytes() -> [UInt8]? {
      guard (try? process.run()) != nil else { return nil }
      let deadline = DispatchWorkItem {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
      }
      DispatchQueue.global().asyncAfter(deadline: .now() + timeMax, execute: deadline)
      defer { deadline.cancel() }
      let data = try? output.fileHandleForReading.read(upToCount: Thumbnailer.byteCountMax)
      // More than that is not read, and the process ends when it writes.
      try? output.fileHandleForReading.close()
      process.waitUntilExit()
      guard process.terminationReason == .exit, process.terminationStatus == 0 else { return nil }
      return data.map { Array($0) }
    }
  }
}
