def main():
    import ssl

main()
