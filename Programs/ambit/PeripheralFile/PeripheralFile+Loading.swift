import Foundation

extension PeripheralFile {
  /// Reads the description at a path; `-` is standard input.
  /// - Throws: `CommandFailure` that names the file.
  static func load(_ path: String) throws -> PeripheralFile {
    let data: Data
    do {
      let handle =
        path == "-"
        ? FileHandle.standardInput
        : try FileHandle(
          forReadingFrom: URL(fileURLWithPath: path))
      // One byte more than allowed is enough to know that it is too long.
      data = try handle.read(upToCount: PeripheralFile.Limits.byteCount + 1) ?? Data()
    } catch {
      throw CommandFailure(.noInput, "\(path) cannot be read: \(reason(error))")
    }
    do {
      return try PeripheralFile(data)
    } catch let failure as CommandFailure {
      throw CommandFailure(failure.status, "\(path): \(failure.sentence)")
    }
  }

  private static func reason(_ error: any Error) -> String {
    switch (error as? CocoaError)?.code {
    case .fileReadNoSuchFile, .fileNoSuchFile: "there is no such file"
    case .fileReadNoPermission: "permission denied"
    default: error.localizedDescription.trimmingSuffix(".")
    }
  }
}
