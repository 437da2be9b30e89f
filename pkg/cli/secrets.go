package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/wovyr/wovyr/pkg/project"
	"github.com/wovyr/wovyr/pkg/secret"
	"github.com/wovyr/wovyr/pkg/secret/encrypted"
)

func newSecrets(env Environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "secrets",
		Short: "List and change the secrets of a project",
		Long: `Secrets are values that activities read as ${ secrets.NAME }: keys, passwords, tokens.
Only the worker that runs an activity reads them, and whatever comes back with one in
it is masked before it reaches a log or a history.

wovyr.yaml says where each is, in an environment variable or a file. Without a place
of its own a secret stands in wovyr.secrets.yaml, which may be checked in: its values
are encrypted (age) for the key in wovyr.key, which must not.`,
		Example: `  wovyr secrets set pay                   asks for the value
  wovyr secrets set pay < key.txt         takes it from a file
  wovyr secrets list
  wovyr secrets rm pay`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newSecretsList(env), newSecretsSet(env), newSecretsRemove(env))
	return c
}

func newSecretsSet(env Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "set NAME",
		Short: "Add or change a secret of the encrypted file",
		Long: `Writes a value, encrypted, into wovyr.secrets.yaml. The value is asked for at the
terminal, where it is not shown, or read from standard input; a line end at its end
does not count. It is never an argument, for arguments are seen by others.

The first time, a key is made: wovyr.key. Keep it out of version control, and keep a
copy: without it the values are lost. To read them elsewhere, put its content there
into the file, or into the environment variable WOVYR_SECRETS_KEY. To add a value
takes the file alone; to let further keys read values, add their public halves to
recipients in the file, and set the values anew.`,
		Example: `  wovyr secrets set pay
  pass show shop/pay | wovyr secrets set pay`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return setSecret(env, args[0]) },
	}
}

func setSecret(env Environment, name string) error {
	p, err := project.Load(".")
	if err != nil {
		return err
	}
	if !secretName(name) {
		return misuse{fmt.Errorf("%q is no name: write letters, digits, - and _, as in ${ secrets.pay_key }", name)}
	}
	if s, named := p.Secrets[name]; named {
		if place, at := s.Place(); place != project.PlaceEncrypted {
			return fmt.Errorf("%s says that secret %s is in %s %s: change it there, or remove the entry", project.FileName, name, place, at)
		} else if at != name {
			return fmt.Errorf("%s says that secret %s is %s of the encrypted file: wovyr secrets set %s", project.FileName, name, at, at)
		}
	}
	value, err := askSecret(env, name)
	if err != nil {
		return err
	}
	if value == "" && !env.Interactive {
		return misuse{fmt.Errorf("nothing came on standard input: send the value of %s there", name)}
	}
	file := p.Encrypted()
	created, err := file.Set(name, value)
	if err != nil {
		return err
	}
	if created {
		fmt.Fprintf(env.Err, "Made a key: %s. Keep a copy of it, and keep it out of version control%s.\n", filepath.Base(file.Key.Path), ignored(file.Key.Path))
	}
	fmt.Fprintf(env.Err, "Set %s in %s: steps read it as ${ secrets.%s }.\n", name, filepath.Base(file.Path), name)
	return nil
}

// secretName reports a name that an expression can read.
func secretName(name string) bool {
	for i, c := range name {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != "" && len(name) <= 128
}

// maxSecret is the most bytes of a value.
const maxSecret = 64 << 10

func askSecret(env Environment, name string) (string, error) {
	if file, ok := env.In.(*os.File); ok && env.Interactive {
		fmt.Fprintf(env.Err, "Value of %s (not shown): ", name)
		b, err := term.ReadPassword(int(file.Fd()))
		fmt.Fprintln(env.Err)
		return string(b), err
	}
	b, err := io.ReadAll(io.LimitReader(env.In, maxSecret+1))
	if err != nil {
		return "", err
	}
	if len(b) > maxSecret {
		return "", fmt.Errorf("the value has more than %d bytes", maxSecret)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

// ignored adds a key to the .gitignore beside it, where there is a repository or such a file, and says so.
func ignored(key string) string {
	dir, name := filepath.Split(key)
	list := filepath.Join(dir, ".gitignore")
	text, err := os.ReadFile(list)
	if err != nil {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
			return ""
		}
	}
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line == name || line == "/"+name {
			return ""
		}
	}
	if len(text) > 0 && !strings.HasSuffix(string(text), "\n") {
		text = append(text, '\n')
	}
	if os.WriteFile(list, append(text, "/"+name+"\n"...), 0o644) != nil {
		return ""
	}
	return " (it is in .gitignore now)"
}

func newSecretsRemove(env Environment) *cobra.Command {
	return &cobra.Command{
		Use:               "rm NAME",
		Short:             "Remove a secret from the encrypted file",
		Example:           `  wovyr secrets rm pay`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: encryptedNames,
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := project.Load(".")
			if err != nil {
				return err
			}
			file := p.Encrypted()
			err = file.Remove(args[0])
			if errors.Is(err, encrypted.ErrUnknown) {
				names, _ := file.Names()
				return fmt.Errorf("there is no secret %s in %s: it has %s", args[0], filepath.Base(file.Path), orNone(names))
			}
			if err == nil {
				fmt.Fprintf(env.Err, "Removed %s from %s.\n", args[0], filepath.Base(file.Path))
			}
			return err
		},
	}
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func encryptedNames(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	p, err := project.Load(".")
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names, _ := p.Encrypted().Names()
	return names, cobra.ShellCompDirectiveNoFileComp
}

func newSecretsList(env Environment) *cobra.Command {
	r := &remote{env: env}
	c := &cobra.Command{
		Use:   "list",
		Short: "List the secrets of a project, without their values",
		Long: `Lists the names that steps can read, where each value is, and whether it can be read
here. Values are never shown.

A stack on AWS has secrets of its own, in Secrets Manager or Parameter Store under its
prefix (docs/deploy.md): they are listed there.`,
		Example: `  wovyr secrets list`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if r.stack != "" {
				return errors.New(ofStack(r.stack))
			}
			if err := listSecrets(c.Context(), env); err != nil {
				return err
			}
			if named := os.Getenv(envStack); named != "" {
				fmt.Fprintf(env.Err, "These are of the project here; %s\n", ofStack(named))
			}
			return nil
		},
	}
	r.stackFlag(c)
	return c
}

// ofStack says where the secrets of a stack are. The prefix is the one that it has unless it was deployed with another.
func ofStack(name string) string {
	return "the secrets of stack " + name + " are in Secrets Manager or Parameter Store under its prefix, which is wovyr/ unless it was deployed with another: " +
		"aws secretsmanager list-secrets --filters Key=name,Values=wovyr/"
}

func listSecrets(ctx context.Context, env Environment) error {
	p, err := project.Load(".")
	if err != nil {
		return err
	}
	names, err := p.Encrypted().Names()
	if err != nil {
		return err
	}
	for name := range p.Secrets { // order-free: sorted below
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		fmt.Fprintln(env.Err, "There are no secrets. Add one with: wovyr secrets set NAME")
		return nil
	}
	from := p.SecretProvider(nil)
	tw := tabwriter.NewWriter(env.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "NAME\tPLACE\tSTATE")
	for _, name := range names {
		place, at := project.PlaceEncrypted, name
		if s, named := p.Secrets[name]; named {
			place, at = s.Place()
		}
		fmt.Fprintf(tw, "%s\t%s %s\t%s\n", name, place, at, stateOf(ctx, from, place, name))
	}
	return tw.Flush()
}

// stateOf says whether a secret can be read here.
func stateOf(ctx context.Context, from secret.Provider, place, name string) string {
	if elsewhere[place] {
		return "not looked up"
	}
	value, err := from.Get(ctx, secret.Ref{Name: name})
	switch {
	case err != nil:
		_, why, _ := strings.Cut(err.Error(), ": ")
		return why
	case len(value) < secret.MinLength:
		return fmt.Sprintf("too short: it needs %d bytes", secret.MinLength)
	}
	return "ok"
}

// elsewhere are the places that the command line does not read.
var elsewhere = map[string]bool{project.PlaceSecretsManager: true, project.PlaceParameter: true}
