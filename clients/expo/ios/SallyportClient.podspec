require 'json'

package = JSON.parse(File.read(File.join(__dir__, '..', 'package.json')))

# The package of clients/swift, whose sources pack.sh puts here.
Pod::Spec.new do |s|
  s.name = 'SallyportClient'
  s.version = package['version']
  s.summary = 'The app\'s side of Sallyport'
  s.license = package['license']
  s.platforms = { ios: '15.1', tvos: '15.1' }
  s.swift_version = '6.0'
  s.source = { git: '' }
  s.static_framework = true
  s.source_files = 'SallyportClient/*.swift'
  s.pod_target_xcconfig = { 'DEFINES_MODULE' => 'YES' }
end
