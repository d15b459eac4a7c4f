//! The native tool.

fn main() -> std::process::ExitCode {
    iba_lab::lab::cli::main()
}
