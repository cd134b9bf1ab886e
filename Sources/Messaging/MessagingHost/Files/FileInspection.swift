#if Messaging
  internal import Essentials
  internal import Glibc
  package import XMPPWire

  /// Reads what a file of this machine is, before it is sent.
  package enum FileInspection {
    /// The largest file that is sent, in bytes.
    package static let byteCountMax: Int64 = 4 << 30

    /// The size, the digest and the kind of a file. Takes a second for a gigabyte.
    package static func metadata(of path: String) async throws(DiskFileError) -> FileMetadata {
      try await FileUpload.onDisk { () throws(DiskFileError) in try read(path) }.get()
    }

    /// The path from the root: a later process may have another current folder.
    package static func absolute(_ path: String) -> String {
      guard !path.hasPrefix("/"), let folder = unsafe getcwd(nil, 0) else { return path }
      defer { unsafe free(folder) }
      return unsafe "\(String(cString: folder))/\(path)"
    }

    private static func read(_ path: String) throws(DiskFileError) -> FileMetadata {
      let file = try DiskFile.open(path)
      let count = try file.byteCount()
      guard count <= byteCountMax else {
        throw DiskFileError("it has \(count) bytes; \(byteCountMax) are the most")
      }
      // The system's own files, such as those of /proc, have content and no size.
      if count == 0, try !file.read(1, at: 0).isEmpty {
        throw DiskFileError("its size isn't known")
      }
      var header = MediaHeader(byteCount: count)
      while let part = header.request {
        header.take(try file.read(part.count, at: part.offset))
      }
      let name = SharedFile.fileName(path) ?? "file"
      let thumbnail = thumbnail(of: file, byteCount: count, header)
      return FileMetadata(
        name: name, mediaType: MediaType.ofName(name), byteCount: count,
        hashes: [FileHash(FileHash.sha256, try file.digest(of: count))], width: header.width,
        height: header.height, duration: header.duration,
        thumbnails: thumbnail.map { [$0.link] } ?? [])
    }

    /// A small picture of a large one; nil for other files.
    private static func thumbnail(
      of file: DiskFile, byteCount: Int64, _ header: MediaHeader
    ) -> Thumbnail? {
      guard let width = header.width, let height = header.height,
        (Int64(Thumbnail.byteCountMax)...ThumbnailProcess.byteCountMax).contains(byteCount),
        width * height <= ThumbnailProcess.pixelCountMax
      else { return nil }
      // A photograph with much detail has a smaller picture.
      for side in [96, 48] {
        guard let bytes = file.withDescriptor({ ThumbnailProcess.thumbnail(of: $0, side: side) })
        else { return nil }
        var small = MediaHeader(byteCount: Int64(bytes.count))
        while let part = small.request {
          small.take(Array(bytes.dropFirst(Int(part.offset)).prefix(part.count)))
        }
        if let thumbnail = Thumbnail(bytes, width: small.width, height: small.height) {
          return thumbnail
        }
      }
      return nil
    }
  }
#endif
