#if Messaging
  /// Media types (RFC 6838) by the ends of names.
  package enum MediaType {
    private static let types = [
      "aac": "audio/aac", "avif": "image/avif", "csv": "text/csv", "flac": "audio/flac",
      "gif": "image/gif", "heic": "image/heic", "jpeg": "image/jpeg", "jpg": "image/jpeg",
      "json": "application/json", "m4a": "audio/mp4", "md": "text/markdown",
      "mov": "video/quicktime",
      "mp3": "audio/mpeg", "mp4": "video/mp4", "oga": "audio/ogg", "ogg": "audio/ogg",
      "opus": "audio/ogg", "pdf": "application/pdf", "png": "image/png", "svg": "image/svg+xml",
      "txt": "text/plain", "wav": "audio/wav", "webm": "video/webm", "webp": "image/webp",
      "zip": "application/zip",
    ]

    /// The type of a file with this name; nil if the name doesn't show it.
    package static func ofName(_ name: String) -> String? {
      guard let dot = name.lastIndex(of: ".") else { return nil }
      return types[name[name.index(after: dot)...].lowercased()]
    }
  }
#endif
