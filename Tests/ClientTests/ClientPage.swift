import Foundation
import GatewayTesting

/// The code that pages for apps show.
enum ClientPage {
    /// The blocks of a language, in their order.
    ///
    /// - Parameter page: The path of a page in the repository.
    static func blocks(of page: String, in language: String) throws -> [String] {
        try Repository.text(of: page).components(separatedBy: "```" + language + "\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
    }
}
