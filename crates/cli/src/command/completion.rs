//! `tenure completion`: what a shell needs to complete words.

use clap::ValueEnum;
use clap_complete::env::Shells;
use serde_json::json;

use crate::completion::VARIABLE;
use crate::context::Context;
use crate::stop::{Stop, usage};

/// The shells that completions are made for.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
    Elvish,
    #[value(name = "powershell")]
    Pwsh,
}

impl Shell {
    fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
            Self::Elvish => "elvish",
            Self::Pwsh => "powershell",
        }
    }
}

/// Print the script with which a shell completes words
///
/// The script asks `tenure` itself whenever the tab key is pressed, so it stays right after an upgrade. Names come from
/// a coordinator that runs; none is started for them.
#[derive(clap::Args)]
#[command(after_help = "Load it whenever a shell starts:\n\n\
    bash        in ~/.bashrc:   eval \"$(tenure completion bash)\"\n\
    zsh         in ~/.zshrc, after compinit:   eval \"$(tenure completion zsh)\"\n\
    fish        tenure completion fish > ~/.config/fish/completions/tenure.fish\n\
    elvish      in rc.elv:      eval (tenure completion elvish | slurp)\n\
    powershell  in $PROFILE:    tenure completion powershell | Out-String | Invoke-Expression")]
pub struct Completion {
    /// The shell
    shell: Shell,
}

/// Prints it.
pub fn run(completion: &Completion, context: &Context) -> Result<(), Stop> {
    let (shells, name) = (Shells::builtins(), completion.shell.name());
    let script = shells.completer(name).and_then(|completer| {
        let mut script = Vec::new();
        completer.write_registration(VARIABLE, "tenure", "tenure", "tenure", &mut script).ok()?;
        String::from_utf8(script).ok()
    });
    let script =
        script.ok_or_else(|| usage(format!("there is no script for {name}"), "tenure help completion"))?;
    context.print_value(&json!({ "shell": name, "script": script }), script.trim_start())
}
