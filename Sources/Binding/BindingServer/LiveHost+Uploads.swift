#if BindingServer
  internal import Binding
  internal import BindingMachines

  extension LiveHost {
    /// The fate of a part's bytes.
    enum PartDecision {
      case answer(LiveMachine.UploadAnswer)
      case write(RequestID, UploadID, offset: Int)
    }

    /// Takes a part of a file, whose bytes the caller has.
    func receive(_ part: UploadPart) -> PartDecision {
      let request = makeRequest()
      handle(.uploadReceived(request, part))
      if let write = uploadWrites.removeValue(forKey: request) {
        return .write(request, write.id, offset: write.offset)
      }
      return .answer(uploadAnswers.removeValue(forKey: request) ?? .conflict)
    }

    /// Notes that the bytes of a request were written, or weren't.
    func noteWrite(_ request: RequestID, _ result: LiveMachine.UploadWrite)
      -> LiveMachine.UploadAnswer
    {
      handle(.uploadWritten(request, result))
      return uploadAnswers.removeValue(forKey: request) ?? .gone
    }

    func connectUploads(of model: ModelID) {
      guard let uploads = models[model]?.uploads, !uploads.isEmpty else { return }
      setUploads(uploads.map(\.limits), of: model)
      for upload in uploads {
        upload.onRemove { [weak self] id in
          guard let number = Int(id) else { return }
          self?.removeUpload(UploadID(number: number), from: model)
        }
      }
    }

    /// Removes a file that the view model has removed. A name that the view model has invented is
    /// ignored, and so is another view model's.
    private func removeUpload(_ id: UploadID, from model: ModelID) {
      guard shownUploads[id]?.model == model else { return }
      handle(.uploadRemoved(id))
    }

    func performUpload(_ action: LiveMachine.Action) {
      switch action {
      case .beginUpload(let id, let model, let upload, let part):
        begin(id, model, upload: upload, part)
      case .writeUpload(let request, let id, let offset): uploadWrites[request] = (id, offset)
      case .noteUpload(let id, let count): note(id, receivedByteCount: count)
      case .failUpload(let id, let failure): fail(id, failure)
      case .removeUpload(let id): remove(id)
      case .refuseUpload(let model, let upload, let failure):
        refuse(failure, model, upload: upload)
      case .answerUpload(let request, let answer): uploadAnswers[request] = answer
      case .makeModel, .appear, .disappear, .releaseModel, .perform, .capture, .write, .end,
        .refuse, .answer:
        assertionFailure("\(action) is of no upload")
      }
    }

    private func begin(_ id: UploadID, _ model: ModelID, upload: Int, _ part: UploadPart) {
      guard let uploads = models[model]?.uploads, uploads.indices.contains(upload) else {
        return assertionFailure("\(model) has no upload \(upload)")
      }
      uploadFolder.begin(id)
      shownUploads[id] = (model, uploads[upload])
      uploads[upload].put(
        Upload.File(
          id: "\(id.number)", name: part.name, type: part.type, byteCount: part.fileByteCount))
    }

    private func refuse(_ failure: UploadFailure, _ model: ModelID, upload: Int) {
      guard let uploads = models[model]?.uploads, uploads.indices.contains(upload) else {
        return assertionFailure("\(model) has no upload \(upload)")
      }
      uploads[upload].refuse(failure)
    }

    private func note(_ id: UploadID, receivedByteCount: Int) {
      shownUploads[id]?.upload.change("\(id.number)") { file in
        file.receivedByteCount = receivedByteCount
        if receivedByteCount == file.byteCount { file.path = uploadFolder.path(of: id) }
      }
    }

    private func fail(_ id: UploadID, _ failure: UploadFailure) {
      uploadFolder.remove(id)
      shownUploads[id]?.upload.change("\(id.number)") { $0.error = UploadError(failure) }
    }

    private func remove(_ id: UploadID) {
      uploadFolder.remove(id)
      shownUploads.removeValue(forKey: id)?.upload.forget("\(id.number)")
    }
  }
#endif
