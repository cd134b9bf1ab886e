import ExampleProgram
import Foundation

/// What the program was asked for.
struct Options: Sendable {
  var port = 8_080
  var source: Source

  /// Where photographs are searched.
  enum Source: Sendable {
    case folder(String)
    case flickr(FlickrPhotos.Configuration)
  }

  static let usage = """
    photo-search [PORT] [--folder PATH]
    photo-search [PORT] --flickr [--api URL] [--pictures URL]
      --folder     whose pictures are searched; ~/Pictures, or what the desktop calls so
      --flickr     everybody's on Flickr; FLICKR_API_KEY has the key that Flickr gives out
      --api        another server that answers as Flickr's
      --pictures   another server of the pictures
    """

  init(
    _ arguments: some Sequence<String>,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws(UsageError) {
    var folder = environment["XDG_PICTURES_DIR"] ?? (environment["HOME"] ?? "") + "/Pictures"
    var isFlickr = false
    var (api, pictures) = (
      "https://api.flickr.com/services/rest/", "https://live.staticflickr.com/"
    )
    var arguments = Arguments(arguments)
    while let argument = arguments.next() {
      switch argument {
      case "--folder": folder = try arguments.value(of: argument)
      case "--flickr": isFlickr = true
      case "--api": api = try arguments.value(of: argument)
      case "--pictures": pictures = try arguments.value(of: argument)
      default:
        guard let port = UInt16(argument) else {
          throw UsageError(unknown: argument)
        }
        self.port = Int(port)
      }
    }
    source = .folder(folder)
    guard isFlickr else { return }
    // Not an argument: those can be seen by all users of a machine.
    guard let key = environment["FLICKR_API_KEY"], !key.isEmpty else {
      throw UsageError(reason: "Put the key that Flickr gave you into FLICKR_API_KEY.")
    }
    source = .flickr(
      .init(key: key, api: try Self.address(api), pictures: try Self.address(pictures)))
  }

  private static func address(_ text: String) throws(UsageError) -> URL {
    guard let url = URL(string: text), ["http", "https"].contains(url.scheme), url.host() != nil
    else { throw UsageError(reason: "“\(text)” is no address of a server.") }
    return url
  }
}
