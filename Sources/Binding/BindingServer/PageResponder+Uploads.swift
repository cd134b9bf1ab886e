#if BindingServer
  internal import Binding
  internal import BindingMachines
  internal import HTTPTypes
  internal import HummingbirdCore

  extension PageResponder {
    /// Takes a part of a file, which a page uploads.
    @concurrent
    func takePart(
      _ request: Request, _ body: [UInt8], _ writer: consuming ResponseWriter
    ) async throws {
      // Forms write a plus for a space.
      let target = (request.head.path ?? "").replacing("+", with: "%20")
      guard let part = UploadPart(Self.parts(of: target).query, byteCount: body.count) else {
        return try await writer.write(
          .badRequest, "A part of a file has tab, epoch, upload, file, at, of, name and type.")
      }
      let answer: LiveMachine.UploadAnswer
      switch await live.receive(part) {
      case .answer(let decided): answer = decided
      case .write(let request, let id, let offset):
        let result = await uploadFolder.write(body, at: offset, of: id)
        answer = await live.noteWrite(request, result)
      }
      try await write(answer, writer)
    }

    @concurrent
    private func write(
      _ answer: LiveMachine.UploadAnswer, _ writer: consuming ResponseWriter
    ) async throws {
      switch answer {
      case .taken:
        try await writer.writeResponse(
          HTTPResponse(status: .noContent, headerFields: [.cacheControl: "no-store"]))
      case .conflict:
        try await writer.write(.conflict, "The tab has another session: announce the file again.")
      case .busy: try await writer.write(.serviceUnavailable, "Another part is being written.")
      case .gone: try await writer.write(.gone, "There is no such file any more.")
      case .malformed(let why): try await writer.write(.badRequest, why)
      case .refused(let failure):
        try await writer.write(Self.status(of: failure), "\(UploadError(failure))")
      }
    }

    private static func status(of failure: UploadFailure) -> HTTPResponse.Status {
      switch failure {
      case .tooLarge: .contentTooLarge
      case .wrongType: .unsupportedMediaType
      case .tooMany: .unprocessableContent
      case .noRoom, .notWritten:
        HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
      case .interrupted: .gone
      }
    }
  }
#endif
