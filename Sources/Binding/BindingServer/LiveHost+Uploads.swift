#if BindingServer
  internal import Binding
  internal import BindingMachines

  extension LiveHost {
    /// Where a view model lists a file.
    struct ShownUpload {
      let model: ModelID
      let upload: Upload
      /// The upload's number in the schema, and the key of its row.
      let number: Int
      let row: String
    }

    /// The fate of a part's bytes.
    enum PartDecision {
      case answer(LiveMachine.UploadAnswer)
      case write(RequestID, UploadID, offset: Int)
    }

    /// Takes a part of a file, whose bytes the caller has.
    func receive(_ part: UploadPart) -> PartDecision {
      let request = makeRequest()
      let ofRow = machineRowUpload(of: part)
      let limits = ofRow.flatMap { models[$0.model]?.upload($0.upload, row: part.row)?.limits }
      handle(.uploadReceived(request, part, rowLimits: limits))
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
    }

    /// Removes a file that the view model has removed. A name that the view model has invented is
    /// ignored, and so is a file of another upload.
    private func remove(_ id: Upload.File.ID, from upload: Upload) {
      guard let id = Int(id).map({ UploadID(number: $0) }), shownUploads[id]?.upload === upload
      else { return }
      handle(.uploadRemoved(id))
    }

    /// Removes the files of rows that a view model has removed.
    func endUploadsOfRemovedRows(of model: ModelID) {
      let removed = shownUploads.filter { _, shown in
        shown.model == model
          && models[model]?.upload(shown.number, row: shown.row) !== shown.upload
      }
      for id in removed.keys.sorted(by: { $0.number < $1.number }) { handle(.uploadRemoved(id)) }
    }

    func performUpload(_ action: LiveMachine.Action) {
      switch action {
      case .beginUpload(let id, let model, let upload, let part):
        begin(id, model, upload: upload, part)
      case .writeUpload(let request, let id, let offset): uploadWrites[request] = (id, offset)
      case .noteUpload(let id, let count): note(id, receivedByteCount: count)
      case .failUpload(let id, let failure): fail(id, failure)
      case .removeUpload(let id): remove(id)
      case .refuseUpload(let model, let upload, let row, let failure):
        models[model]?.upload(upload, row: row)?.refuse(failure)
      case .answerUpload(let request, let answer): uploadAnswers[request] = answer
      case .makeModel, .appear, .disappear, .releaseModel, .perform, .capture, .write, .end,
        .refuse, .answer:
        assertionFailure("\(action) is of no upload")
      }
    }

    private func begin(_ id: UploadID, _ model: ModelID, upload: Int, _ part: UploadPart) {
      guard let shown = models[model]?.upload(upload, row: part.row) else {
        return assertionFailure("\(model) has no upload \(upload)")
      }
      uploadFolder.begin(id)
      shownUploads[id] = ShownUpload(model: model, upload: shown, number: upload, row: part.row)
      shown.onRemove { [weak self, weak shown] id in
        if let shown { self?.remove(id, from: shown) }
      }
      shown.put(
        Upload.File(
          id: "\(id.number)", name: part.name, type: part.type, byteCount: part.fileByteCount))
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
