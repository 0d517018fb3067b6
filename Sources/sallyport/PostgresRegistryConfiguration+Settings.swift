import EventLoop
import Postgres
import PostgresKeyStore
import Settings
import TLS

extension PostgresRegistryConfiguration {
    /// The configuration that the settings of a registry in PostgreSQL describe.
    init(_ settings: PostgresSettings, queueCountMax: Int) {
        var connection = PostgresConfiguration(
            hosts: settings.hosts.map { .init(name: $0.name, port: $0.port) })
        connection.user = settings.user
        connection.password = settings.password
        connection.passwordFile = settings.passwordFile
        connection.database = settings.database
        connection.parameters = settings.parameters
        if settings.parameters["sslmode"]?.hasPrefix("verify") == true,
            settings.parameters["sslrootcert"] == nil
        {
            // libpq's own default is a file in the home directory.
            connection.parameters["sslrootcert"] = TLSAuthorities.systemBundlePaths.first {
                File.exists($0)
            }
        }
        connection.connectTimeout = settings.connectTimeout
        connection.commandTimeout = settings.commandTimeout
        self.init(connection: connection)
        schema = settings.schema
        poolCount = settings.poolCount
        staleMax = settings.staleMax
        self.queueCountMax = queueCountMax
    }
}
