import Binding
import ExampleProgram
import PictureStore
import Reactive

#if BindingServer
  import BindingServer
  import CoverFlowPage

  /// Serves the search: `swift run --traits default,BindingServer photo-search [PORT] [OPTIONS]`.
  @main
  struct App {
    @MainActor
    static func main() async {
      await ExampleProgram.run(usage: Options.usage) {
        try await serve(Options(CommandLine.arguments.dropFirst()))
      }
    }

    @MainActor
    private static func serve(_ options: Options) async throws {
      switch options.source {
      case .flickr(let configuration):
        let photos = FlickrPhotos(configuration)
        try await serve(photos, pictures: site(of: photos), options)
      case .folder(let path):
        let folder: PictureFolder
        do throws(PictureFolder.Failure) {
          folder = try PictureFolder(path)
        } catch {
          throw UsageError(reason: "There is no folder \(path): name one with --folder.")
        }
        let photos = FolderPhotos(folder, thumbnailer: Thumbnailer())
        try await serve(photos, pictures: site(of: photos), options)
      }
    }

    @MainActor
    private static func serve(
      _ photos: some Photos, pictures: Site, _ options: Options
    ) async throws {
      let recent = RecentSearches()
      var page = Page("index.html") {
        PhotoApp(service: photos, recent: recent, scheduler: QueueScheduler.main)
      }
      page.allowsWebAssembly = true
      var configuration = PageServer.Configuration()
      configuration.port = options.port
      let server = try await PageServer(
        site: .files([
          "index.html": PackageResources.index_html,
          "screens.js": PackageResources.screens_js,
          "style.css": PackageResources.style_css,
        ])
        .or(.files(CoverFlowPage.files)).or(pictures),
        pages: [page], configuration: configuration)
      try await server.runService { ExampleProgram.open($0) }
    }

    /// The pictures of a folder, and why one isn't sent.
    private static func site(of photos: FolderPhotos) -> Site {
      Site { path throws(Site.Refusal) in
        do throws(PictureFolder.Failure) {
          guard let (picture, version) = try await photos.picture(at: path) else { return nil }
          return .init(picture.bytes, mediaType: picture.mediaType, version: version)
        } catch {
          switch error {
          case .missing, .notAPicture: return nil
          case .unreadable: throw .init(status: 403, reason: "This picture can't be read.")
          case .tooLarge: throw .init(status: 403, reason: "This picture is too large to be shown.")
          }
        }
      }
    }

    /// Flickr's pictures, and why one isn't sent.
    private static func site(of photos: FlickrPhotos) -> Site {
      Site { path throws(Site.Refusal) in
        do throws(HTTPClient.Failure) {
          return try await photos.picture(at: path)
            .map { .init($0.bytes, mediaType: $0.mediaType) }
        } catch {
          switch error {
          case .noAnswer: throw .init(status: 504, reason: "Flickr does not answer.")
          case .unreachable, .tooLarge:
            throw .init(status: 502, reason: "Flickr did not send this picture.")
          }
        }
      }
    }
  }
#else
  @main
  struct App {
    static func main() { ExampleProgram.failWithout(traits: "default,BindingServer") }
  }
#endif
