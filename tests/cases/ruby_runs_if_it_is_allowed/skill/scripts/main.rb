require "json"
puts "ruby: #{ARGV.join(' ')}", File.basename(__FILE__), JSON.generate({ "a" => [1] }), __dir__ == "#{ENV['SKILL_BASE_DIR']}/scripts"
