require 'json'

package = JSON.parse(File.read(File.join(__dir__, '..', 'package.json')))

Pod::Spec.new do |s|
  s.name = 'SallyportExpo'
  s.version = package['version']
  s.summary = package['description']
  s.license = package['license']
  s.platforms = { ios: '15.1', tvos: '15.1' }
  s.swift_version = '5.9'
  s.source = { git: '' }
  s.static_framework = true
  s.source_files = 'SallyportExpo/*.swift'
  s.dependency 'ExpoModulesCore'
  s.dependency 'SallyportClient'
  s.pod_target_xcconfig = { 'DEFINES_MODULE' => 'YES' }
end
