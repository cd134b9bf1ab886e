package import BindingMachines
public import Reactive

/// Files that the users of a page send to its view model.
///
///     final class Album: ViewModel {
///       let photos = Upload(byteCountMax: 20_000_000, countMax: 10, types: ["image/*"])
///       static let bindings: Bindings<Album> = ["photos": .upload(\.photos)]
///     }
///
/// A file input with `data-upload="photos"` sends each chosen file in parts, and ``files`` has it from its
/// announcement on, with its progress. The bytes of a file that is whole are at its ``File/path``, in a
/// temporary file, until the file is removed, or the view model ends. To keep them, move the temporary
/// file elsewhere, and remove the file; a view model that all tabs share doesn't end by itself.
@MainActor
public final class Upload {
  /// A file, or as much of it as has come.
  public struct File: Identifiable, Hashable, Sendable {
    /// Given by the server, unique among its files.
    public let id: String
    /// The file's name in the user's system, for people: without folders and control characters, at
    /// most 255 bytes, and by the browser's word. It may equal another file's.
    public var name: String
    /// The media type by the browser's word, which no one has compared with the content; may be empty.
    public var type: String
    /// The size of the whole file.
    public var byteCount: Int
    /// How much of it has come.
    public var receivedByteCount = 0
    /// The path of the temporary file; nil until it is whole.
    public var path: String?
    /// Why the file isn't taken; nil if it is.
    public var error: UploadError?

    /// The part that has come, from 0 to 1.
    public var progress: Double {
      guard byteCount > 0 else { return path == nil ? 0 : 1 }
      return Double(receivedByteCount) / Double(byteCount)
    }

    /// Creates a file, as for tests of view models.
    public init(id: String, name: String, type: String = "", byteCount: Int) {
      self.id = id
      self.name = name
      self.type = type
      self.byteCount = byteCount
    }
  }

  /// The files in the order in which they were chosen.
  public let files: Property<[File]>
  /// Whether a file is still coming.
  public let isReceiving: Property<Bool>
  /// Why the file that was chosen last isn't among the files; nil after another one is.
  public let error: Property<UploadError?>

  package let limits: UploadLimits
  /// The action of the page that removes a file.
  let cancel: Action<String, Never, Never>
  private let list = MutableProperty<[File]>([])
  private let refusal = MutableProperty<UploadError?>(nil)
  private let removals: Removals

  /// The receiver of removed files, which the page's action reaches, too.
  @MainActor
  private final class Removals {
    var handle: ((String) -> Void)?
  }

  /// Creates an upload without files. No file or a size below 0 is a programming error and traps.
  ///
  /// - Parameters:
  ///   - byteCountMax: The maximum size of a file. A server's files have 4 GB together.
  ///   - countMax: The maximum number of files at a time. With 1, a newly chosen file replaces the one
  ///     before.
  ///   - types: Accepted types, as in the `accept` attribute: `image/png`, `image/*`, `.csv`. Empty for
  ///     all. They are compared with the browser's word for the file, not with its content.
  public init(byteCountMax: Int, countMax: Int = 1, types: [String] = []) {
    precondition(byteCountMax >= 0 && (1...1_000).contains(countMax), "an upload takes a file")
    limits = UploadLimits(byteCountMax: byteCountMax, countMax: countMax, types: types)
    let (list, removals) = (list, Removals())
    self.removals = removals
    files = Property(capturing: list)
    isReceiving = Property(list).map { files in
      files.contains { $0.path == nil && $0.error == nil }
    }.skipRepeats()
    error = Property(capturing: refusal)
    cancel = Action(onMainActor: { id in Self.remove(id, from: list, removals) })
  }

  /// Removes a file and its temporary file; refuses later parts of it. Ignores an unknown name.
  public func remove(_ id: File.ID) { Self.remove(id, from: list, removals) }

  /// Removes all files.
  public func removeAll() { for file in list.value { remove(file.id) } }

  private static func remove(
    _ id: String, from list: MutableProperty<[File]>, _ removals: Removals
  ) {
    list.modify { $0.removeAll { $0.id == id } }
    removals.handle?(id)
  }

  // MARK: The server's side

  /// Adds a file, or replaces the one of the same name; as the server does, for tests of view models.
  public func put(_ file: File) {
    refusal.value = nil
    list.modify { files in
      if let index = files.firstIndex(where: { $0.id == file.id }) {
        files[index] = file
      } else {
        files.append(file)
      }
    }
  }

  /// Changes a file if it is there.
  package func change(_ id: String, _ body: (inout File) -> Void) {
    list.modify { files in
      if let index = files.firstIndex(where: { $0.id == id }) { body(&files[index]) }
    }
  }

  /// Forgets a file that the server has removed.
  package func forget(_ id: String) { list.modify { $0.removeAll { $0.id == id } } }

  /// Notes why a file is not even listed.
  package func refuse(_ failure: UploadFailure) { refusal.value = UploadError(failure) }

  /// Calls a closure with each file that the view model or its page removes, instead of an earlier one.
  package func onRemove(_ handle: ((String) -> Void)?) { removals.handle = handle }
}

/// The reason why a file was not taken.
public struct UploadError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of an error. Later versions may add more.
  public struct Code: Hashable, Sendable {
    private enum Wrapped { case tooLarge, wrongType, tooMany, noRoom, notWritten, interrupted }
    private var wrapped: Wrapped

    /// The file has more bytes than the upload accepts.
    public static let tooLarge = Code(wrapped: .tooLarge)
    /// Its type is not accepted.
    public static let wrongType = Code(wrapped: .wrongType)
    /// There are as many files as the upload accepts.
    public static let tooMany = Code(wrapped: .tooMany)
    /// The server has no room: on its disk, or for the files of all its view models.
    public static let noRoom = Code(wrapped: .noRoom)
    /// The server can't write the file.
    public static let notWritten = Code(wrapped: .notWritten)
    /// Its page was closed before the file was whole, or nothing came for five minutes.
    public static let interrupted = Code(wrapped: .interrupted)
  }

  /// The kind of error.
  public var code: Code
  /// A sentence for users, in English.
  public var description: String

  /// Creates an error, as for tests of view models.
  public init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }

  package init(_ failure: UploadFailure) {
    switch failure {
    case .tooLarge(let byteCountMax):
      self.init(.tooLarge, "The file is too large: at most \(Self.size(byteCountMax)).")
    case .wrongType: self.init(.wrongType, "Files of this type are not accepted.")
    case .tooMany(let countMax):
      self.init(.tooMany, "There are too many files: at most \(countMax).")
    case .noRoom: self.init(.noRoom, "The server has no room for the file.")
    case .notWritten: self.init(.notWritten, "The server can't store the file.")
    case .interrupted: self.init(.interrupted, "The upload was interrupted.")
    }
  }

  /// A size in decimal units, rounded down, so that the shown size is accepted.
  private static func size(_ byteCount: Int) -> String {
    for (unit, name) in [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")]
    where byteCount >= unit {
      let tenths = byteCount / (unit / 10)
      return tenths % 10 == 0 ? "\(tenths / 10) \(name)" : "\(tenths / 10).\(tenths % 10) \(name)"
    }
    return "\(byteCount) bytes"
  }
}

extension Bindings.Member {
  /// Files that the page sends, chosen by an input with `data-upload`.
  ///
  /// The page can also use the list `name` with the values `id`, `name`, `type`, `byteCount`,
  /// `receivedByteCount`, `progress` from 0 to 1, `isReceived` and `error` of each file, the action
  /// `name.cancel`, with a file's `id`, and the values `name.error`, the reason why no further file is
  /// taken, and `name.receiving`. It is a member of a page's view model, of a group in it, or of the rows
  /// of a list, which may be in rows of another. Files of a row end with it, too.
  public static func upload(_ path: KeyPath<Model, Upload>) -> Self {
    let rows = RowValues<Upload.File>(
      dictionaryLiteral: ("id", .value(\.id)), ("name", .value(\.name)), ("type", .value(\.type)),
      ("byteCount", .value(\.byteCount)), ("receivedByteCount", .value(\.receivedByteCount)),
      ("progress", .value(\.progress)), ("isReceived", .value(\.isReceived)),
      ("error", .value(\.errorText)))
    return Self(uploadParts: [
      ("", .upload { $0[keyPath: path] }),
      (
        "",
        .list(
          DeclaredList(row: { rows.scope }) {
            ValueRows($0[keyPath: path].files, values: rows, mark: $1)
          })
      ),
      (
        ".cancel",
        .action(takesArgument: true) { model in
          let cancel = model[keyPath: path].cancel
          return AttachedAction { argument in
            guard let argument, let id = String(pageValue: argument) else { return }
            cancel.apply(id).start()
          }
        }
      ),
      // By this the page finds the scope of the action.
      (
        ".cancel.enabled",
        .value(isTwoWay: false) { .observing($0[keyPath: path].cancel.isEnabled, $1) }
      ),
      (
        ".error",
        .value(isTwoWay: false) {
          .observing($0[keyPath: path].error.map { $0?.description }, $1)
        }
      ),
      (".receiving", .value(isTwoWay: false) { .observing($0[keyPath: path].isReceiving, $1) }),
    ])
  }
}

extension Upload.File {
  fileprivate var isReceived: Bool { path != nil }
  fileprivate var errorText: String? { error?.description }
}
