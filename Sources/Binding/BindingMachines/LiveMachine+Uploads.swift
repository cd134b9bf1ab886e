import Essentials

extension LiveMachine {
  /// A file of an upload, from its announcement until the view model removes it or ends.
  struct UploadedFile {
    let model: ModelID
    let key: UploadKey
    let byteCount: Int
    var receivedByteCount = 0
    /// The part that is being written, and the offset of its end.
    var write: (request: RequestID, end: Int)?
    var failure: UploadFailure?
    var lastPart: Instant

    var isIncomplete: Bool { failure == nil && (!isCreated || receivedByteCount < byteCount) }
    /// Whether the file is on the disk.
    var isCreated = false
  }

  /// The file among those of all pages. Another tab can't name it.
  struct UploadKey: Hashable {
    let tab: TabName
    /// The number of the upload in the page's schema.
    let upload: Int
    let row: String
    let text: String
  }

  /// The answer to a part of a file.
  package enum UploadAnswer: Hashable, Sendable {
    case taken
    /// The tab is unknown, or in another session: announce the file again.
    case conflict
    /// Another part of the file is being written.
    case busy
    /// The view model has removed the file, or the page has never announced it.
    case gone
    case refused(UploadFailure)
    case malformed(String)
  }

  /// The result of writing a part.
  package enum UploadWrite: Hashable, Sendable { case written, noRoom, failed }

  /// Sets the limits of a model's uploads, in the order of the schema. Called when it was made.
  package mutating func setUploads(_ limits: [UploadLimits], of model: ModelID) {
    guard models[model] != nil else { return }
    models[existing: model].uploadLimits = limits
  }

  /// The upload of a row that a part is of; nil for one of a page, and for a part that is refused.
  package func rowUpload(of part: UploadPart) -> (model: ModelID, upload: Int)? {
    guard let tab = TabName(part.tab), let session = sessions[tab],
      let model = models[session.model], case let schema = pages[model.page].schema,
      let upload = schema.upload(named: part.upload), upload >= schema.uploads.count
    else { return nil }
    return (session.model, upload)
  }

  // MARK: Parts

  mutating func receive(
    _ part: UploadPart, _ rowLimits: UploadLimits?, _ request: RequestID, _ now: Instant,
    _ actions: inout [Action]
  ) {
    guard let tab = TabName(part.tab), let session = sessions[tab], session.epoch == part.epoch,
      let model = models[session.model]
    else { return actions.append(.answerUpload(request, .conflict)) }
    let schema = pages[model.page].schema
    guard let upload = schema.upload(named: part.upload) else {
      return actions.append(.answerUpload(request, .malformed("\(part.upload) is no upload")))
    }
    noteLife(ofStreamOf: tab, now)
    let isOfPage = schema.uploads.indices.contains(upload)
    let key = UploadKey(
      tab: tab, upload: upload, row: isOfPage ? "" : part.row, text: part.key)
    let isKnown = model.uploadLimits.indices.contains(upload)
    guard let limits = isOfPage ? (isKnown ? model.uploadLimits[upload] : nil) : rowLimits else {
      return actions.append(.answerUpload(request, .gone))
    }
    if let id = uploadIDs[key] {
      take(part, of: id, request, now, &actions)
    } else if part.offset == 0, part.byteCount == 0, !part.isEnd {
      announce(part, key, session.model, limits, request, now, &actions)
    } else {
      actions.append(.answerUpload(request, .gone))
    }
  }

  private mutating func announce(
    _ part: UploadPart, _ key: UploadKey, _ model: ModelID, _ limits: UploadLimits,
    _ request: RequestID, _ now: Instant, _ actions: inout [Action]
  ) {
    guard makeRoom(limits, key, of: model, &actions) else {
      let failure = UploadFailure.tooMany(countMax: limits.countMax)
      actions.append(.refuseUpload(model, upload: key.upload, row: key.row, failure))
      return actions.append(.answerUpload(request, .refused(failure)))
    }
    uploadCount += 1
    let id = UploadID(number: uploadCount)
    var file = UploadedFile(
      model: model, key: key, byteCount: part.fileByteCount, lastPart: now)
    let failure = refusal(of: part, limits)
    if failure == nil { file.write = (request, 0) }
    uploads[id] = file
    uploadIDs[key] = id
    actions.append(.beginUpload(id, model, upload: key.upload, part))
    if let failure {
      fail(id, failure, &actions)
      return actions.append(.answerUpload(request, .refused(failure)))
    }
    uploadWrites[request] = id
    schedule(now + BindingLimits.uploadSilenceMax, isCoarse: true)
    actions.append(.writeUpload(request, id, offset: 0))
  }

  private func refusal(of part: UploadPart, _ limits: UploadLimits) -> UploadFailure? {
    if !limits.accepts(part.name, part.type) { return .wrongType }
    if part.fileByteCount > limits.byteCountMax {
      return .tooLarge(byteCountMax: limits.byteCountMax)
    }
    let others = uploads.values.filter { $0.failure == nil }
    let room = others.reduce(BindingLimits.uploadByteCountMax) { $0 - $1.byteCount }
    return part.fileByteCount > room || uploads.count >= BindingLimits.uploadCountMax
      ? .noRoom : nil
  }

  /// Removes files that have failed, if there are as many files as there can be; or the only one, in
  /// place of which another is chosen.
  private mutating func makeRoom(
    _ limits: UploadLimits, _ key: UploadKey, of model: ModelID, _ actions: inout [Action]
  ) -> Bool {
    let files = uploads.filter {
      $0.value.model == model && $0.value.key.upload == key.upload && $0.value.key.row == key.row
    }
    guard files.count >= limits.countMax else { return true }
    let removed = files.filter { $0.value.failure != nil || limits.countMax == 1 }
    for id in removed.keys.sorted(by: { $0.number < $1.number }) { removeUpload(id, &actions) }
    return files.count - removed.count < limits.countMax
  }

  private mutating func take(
    _ part: UploadPart, of id: UploadID, _ request: RequestID, _ now: Instant,
    _ actions: inout [Action]
  ) {
    let file = uploads[existing: id]
    let answer: UploadAnswer
    if let failure = file.failure {
      answer = .refused(failure)
    } else if file.write != nil {
      answer = .busy
    } else if part.isEnd {
      if file.isIncomplete { fail(id, .interrupted, &actions) }
      answer = .gone
    } else if part.fileByteCount != file.byteCount || part.offset > file.receivedByteCount {
      answer = .malformed("the parts of a file follow each other")
    } else if part.offset + part.byteCount <= file.receivedByteCount {
      // It was written before, and the answer was lost.
      answer = .taken
    } else {
      uploads[existing: id].write = (request, part.offset + part.byteCount)
      uploadWrites[request] = id
      return actions.append(.writeUpload(request, id, offset: part.offset))
    }
    uploads[existing: id].lastPart = now
    actions.append(.answerUpload(request, answer))
  }

  mutating func noteWrite(
    _ request: RequestID, _ result: UploadWrite, _ now: Instant, _ actions: inout [Action]
  ) {
    guard let id = uploadWrites.removeValue(forKey: request), let file = uploads[id],
      let write = file.write, write.request == request
    else { return actions.append(.answerUpload(request, .gone)) }
    uploads[existing: id].write = nil
    uploads[existing: id].lastPart = now
    if let failure = file.failure {
      return actions.append(.answerUpload(request, .refused(failure)))
    }
    switch result {
    case .written:
      uploads[existing: id].isCreated = true
      uploads[existing: id].receivedByteCount = max(file.receivedByteCount, write.end)
      let received = uploads[existing: id].receivedByteCount
      actions.append(.noteUpload(id, receivedByteCount: received))
      actions.append(.answerUpload(request, .taken))
    case .noRoom, .failed:
      let failure: UploadFailure = result == .noRoom ? .noRoom : .notWritten
      fail(id, failure, &actions)
      actions.append(.answerUpload(request, .refused(failure)))
    }
  }

  // MARK: End

  private mutating func fail(
    _ id: UploadID, _ failure: UploadFailure, _ actions: inout [Action]
  ) {
    uploads[existing: id].failure = failure
    actions.append(.failUpload(id, failure))
  }

  /// Forgets a file, which the view model or its page has removed, or which ends with the view model.
  mutating func removeUpload(_ id: UploadID, _ actions: inout [Action]) {
    guard let file = uploads.removeValue(forKey: id) else { return }
    if uploadIDs[file.key] == id { uploadIDs[file.key] = nil }
    if let write = file.write { uploadWrites[write.request] = nil }
    actions.append(.removeUpload(id))
  }

  /// Fails what a tab can't continue, and removes what an ended model has.
  mutating func endUploads(
    of tab: TabName, orOf model: ModelID? = nil, _ actions: inout [Action]
  ) {
    guard !uploads.isEmpty else { return }
    for (id, file) in uploads.sorted(by: { $0.key.number < $1.key.number }) {
      if file.model == model {
        removeUpload(id, &actions)
      } else if file.key.tab == tab {
        // Another document of the tab may choose the same key.
        if uploadIDs[file.key] == id { uploadIDs[file.key] = nil }
        if file.isIncomplete { fail(id, .interrupted, &actions) }
      }
    }
  }

  /// Fails files of which nothing has come for too long.
  mutating func endSilentUploads(_ now: Instant, _ actions: inout [Action]) {
    for (id, file) in uploads.sorted(by: { $0.key.number < $1.key.number })
    where file.isIncomplete && file.write == nil {
      let end = file.lastPart + BindingLimits.uploadSilenceMax
      if end <= now { fail(id, .interrupted, &actions) } else { schedule(end, isCoarse: true) }
    }
  }

  func uploadViolations(_ limit: Int) -> [String] {
    var found: [String] = []
    for (id, file) in uploads.prefix(limit) {
      if models[file.model] == nil { found.append("upload \(id.number) is of no model") }
      if file.receivedByteCount > file.byteCount {
        found.append("upload \(id.number) has more bytes than announced")
      }
      if let write = file.write, uploadWrites[write.request] != id {
        found.append("the write of upload \(id.number) is unknown")
      }
    }
    for (key, id) in uploadIDs.prefix(limit) where uploads[id]?.key != key {
      found.append("upload \(id.number) has another key")
    }
    return found
  }
}
